package api

import (
	"fmt"

	"github.com/snowraft/snowraft/server/wire"
)

// pageSize returns the page size for a requested size: 100 for 0, and at most 1000.
func pageSize(asked int32) (int, error) {
	switch {
	case asked < 0:
		return 0, wire.Invalid(fmt.Sprintf("page_size %d: expected 1 to 1000, or 0 for 100", asked))
	case asked == 0:
		return 100, nil
	case asked > 1000:
		return 1000, nil
	default:
		return int(asked), nil
	}
}

// page returns the messages of the first size items of found, and the page token of the items after them: the token of the last
// item of the page, or an empty one if found has no further item.
func page[T, M any](found []T, size int, token func(last T) string, message func(T) M) (messages []M, next string) {
	if len(found) > size {
		found, next = found[:size], token(found[size-1])
	}
	for _, item := range found {
		messages = append(messages, message(item))
	}
	return messages, next
}
