package docs_test

import (
	"path/filepath"
	"regexp"
	"testing"
)

// The clients and the packages for frameworks have one version.
func TestClientsHaveOneVersion(t *testing.T) {
	const want = "0.1.0"
	for glob, pattern := range map[string]string{
		"../clients/*/package.json":                                            `(?m)^  "version": "([^"]+)",$`,
		"../clients/*/pyproject.toml":                                          `(?m)^version = "([^"]+)"$`,
		"../clients/java/pom.xml":                                              `(?m)^  <version>([^<]+)</version>$`,
		"../clients/java/*/pom.xml":                                            `<artifactId>snowraft-parent</artifactId>\s*<version>([^<]+)</version>`,
		"../clients/java/README.md":                                            `<artifactId>snowraft-client</artifactId>\s*<version>([^<]+)</version>`,
		"../clients/typescript/src/process.ts":                                 `version = "([^"]+)"`,
		"../clients/typescript/README.md":                                      `npm install PATH/snowraft-([0-9.]+)\.tgz`,
		"../clients/python/src/snowraft/_version.py":                           `VERSION = "([^"]+)"`,
		"../examples/README.md":                                                `snowraft-client-([0-9.]+)\.jar`,
		"../bench/clients/java/pom.xml":                                        `<artifactId>snowraft-parent</artifactId>\s*<version>([^<]+)</version>`,
		"../clients/prisma/package.json":                                       `"snowraft": "\^([^"]+)"`,
		"../clients/java/client/src/main/java/io/*/client/SnowraftClient.java": `VERSION = "([^"]+)"`,
	} {
		files, err := filepath.Glob(glob)
		if err != nil || len(files) == 0 {
			t.Errorf("%s: no file, %v", glob, err)
		}
		for _, file := range files {
			if m := regexp.MustCompile(pattern).FindStringSubmatch(read(t, file)); m == nil || m[1] != want {
				t.Errorf("%s: version %q, want %s", file, m, want)
			}
		}
	}
}
