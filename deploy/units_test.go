package deploy_test

import (
	"regexp"
	"strings"
	"testing"
)

// The configuration files of the packages name settings that exist, also in their comments.
func TestPackagedConfigurationNamesSettings(t *testing.T) {
	t.Parallel()
	golden := read(t, "../cmd/snowraft/testdata/flags.golden")
	for file, command := range map[string]string{"linux/snowraft.yaml": "serve", "linux/gateway.yaml": "gateway"} {
		_, settings, ok := strings.Cut(golden, "\nsnowraft "+command+"\n")
		if !ok {
			t.Fatalf("the list of flags has no snowraft %s", command)
		}
		settings, _, _ = strings.Cut(settings, "\nsnowraft ")
		keys := regexp.MustCompile(`(?m)^#?([a-z-]+): `).FindAllStringSubmatch(read(t, file), -1)
		if len(keys) < 4 {
			t.Errorf("%s names %d settings", file, len(keys))
		}
		for _, key := range keys {
			if !regexp.MustCompile(`; key ` + key[1] + `(;|\n|$)`).MatchString(settings) {
				t.Errorf("%s: %s is not a setting of snowraft %s", file, key[1], command)
			}
		}
	}
}
