package kernel

import (
	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/snowflake"
)

// uuidTextBytes is the length of a UUID as text.
const uuidTextBytes = 36

// writeUUIDs returns count IDs as UUIDs, which are parts of one text. A newly issued ID fits a UUID until the year 10889.
func writeUUIDs(taken []allocator.Range, count uint32, layout *snowflake.Layout, tag snowflake.UUIDTag) ([]string, error) {
	buf := make([]byte, 0, uuidTextBytes*int(count))
	for _, r := range taken {
		for id := range r.All() {
			u, err := layout.UUID(id, tag)
			if err != nil {
				return nil, err
			}
			buf = u.Append(buf)
		}
	}
	text := string(buf)
	uuids := make([]string, 0, count)
	for ; text != ""; text = text[uuidTextBytes:] {
		uuids = append(uuids, text[:uuidTextBytes])
	}
	return uuids, nil
}
