package issue

import (
	"sync"

	"github.com/snowraft/snowraft/allocator"
)

var scratch = sync.Pool{New: func() any { return new([]allocator.Range) }}

// Borrow returns empty scratch space for Take. Hand back the address of what Take returned.
func Borrow() *[]allocator.Range { return scratch.Get().(*[]allocator.Range) }

// Return keeps scratch space for another call.
func Return(ids *[]allocator.Range) {
	*ids = (*ids)[:0]
	scratch.Put(ids)
}
