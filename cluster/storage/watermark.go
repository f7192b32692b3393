package storage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/google/uuid"

	"github.com/snowraft/snowraft/internal/position"
)

// Watermark keeps the last position up to which a member knows the history of its cluster to be committed. The file is separate
// from the log, so that it shows when the log was set back.
//
// The file has two slots that are written by turns, each in a separate sector. A torn write leaves the other slot. Writes do
// not wait for the disk. So a crash of the machine may lower the watermark, but never raises it beyond the log: the log was on
// the disk before the position was known.
type Watermark struct {
	file *os.File // nil without a data directory
	next int64    // slot to write next
	mark atomic.Pointer[position.Position]
}

const (
	watermarkFile = "watermark"
	// slotDistance is the distance between the slots' beginnings, the size of a sector.
	slotDistance = 512
	slotFormat   = 1
	slotSize     = 1 + position.Size + crc32.Size // format, position, CRC32C
)

// OpenWatermark reads the watermark in the data directory of id, and creates the file if necessary. Damaged slots do not
// count, nor do those from another cluster. The errors are those of the operating system.
func OpenWatermark(id *Identity) (*Watermark, error) {
	w := &Watermark{}
	w.mark.Store(&position.Position{})
	if id.dir == "" {
		return w, nil
	}
	var err error
	if w.file, err = os.OpenFile(filepath.Join(id.dir, watermarkFile), os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	cluster, _ := uuid.Parse(id.Cluster()) // zero before the member has joined one
	for slot := range int64(2) {
		p, err := w.read(slot)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("data directory: %w", err), w.file.Close())
		}
		if p.Cluster == cluster && w.Mark().Before(p) {
			w.mark.Store(&p)
			w.next = 1 - slot
		}
	}
	return w, nil
}

// read returns the position in a slot; zero if the slot is empty or damaged.
func (w *Watermark) read(slot int64) (position.Position, error) {
	raw := make([]byte, slotSize)
	if _, err := w.file.ReadAt(raw, slot*slotDistance); errors.Is(err, io.EOF) {
		return position.Position{}, nil
	} else if err != nil {
		return position.Position{}, err
	}
	content, sum := raw[:slotSize-crc32.Size], binary.BigEndian.Uint32(raw[slotSize-crc32.Size:])
	if sum != crc32.Checksum(content, castagnoli) || content[0] != slotFormat {
		return position.Position{}, nil
	}
	p, err := position.Parse(content[1:])
	if err != nil {
		return position.Position{}, nil //nolint:nilerr // an unreadable slot is damaged
	}
	return p, nil
}

// Mark returns the watermark; zero if there is none. It may be called from any goroutine.
func (w *Watermark) Mark() position.Position { return *w.mark.Load() }

// Raise replaces the watermark by a later position, without a wait for the disk. After an error, the earlier one counts.
func (w *Watermark) Raise(p position.Position) error {
	if w.file != nil {
		raw := p.Append([]byte{slotFormat})
		raw = binary.BigEndian.AppendUint32(raw, crc32.Checksum(raw, castagnoli))
		if _, err := w.file.WriteAt(raw, w.next*slotDistance); err != nil {
			return err
		}
		w.next = 1 - w.next
	}
	w.mark.Store(&p)
	return nil
}

// Close closes the file.
func (w *Watermark) Close() error {
	if w.file == nil {
		return nil
	}
	return w.file.Close()
}
