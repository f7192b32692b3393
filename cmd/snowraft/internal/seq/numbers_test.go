package seq

import (
	"strings"
	"testing"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// A format of a later version is an error.
func TestFormatThatIsNotKnown(t *testing.T) {
	t.Parallel()
	for _, resp := range []*snowraftv1.NextNumbersResponse{
		{Count: 1001, Format: "{seq:roman}"}, {Count: 1001, Format: "{seq}", TimeZone: "Mars/Olympus"}, {Count: 2, Format: "{roman}", Texts: []string{"I"}},
	} {
		if _, err := texts(resp); err == nil || !strings.Contains(err.Error(), "does not know") {
			t.Errorf("%v: %v", resp, err)
		}
	}
}
