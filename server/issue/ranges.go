package issue

import (
	"sync"

	"github.com/snowraft/snowraft/allocator"
)

var scratch = sync.Pool{New: func() any { return new([]allocator.Range) }}

// Borrow returns empty scratch space for Take. Store the result of Take in it and pass it to Return.
func Borrow() *[]allocator.Range { return scratch.Get().(*[]allocator.Range) }

// Return keeps scratch space for another call of Borrow. The caller must not use it any longer.
func Return(ids *[]allocator.Range) {
	*ids = (*ids)[:0]
	scratch.Put(ids)
}
