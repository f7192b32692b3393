package storage

import "github.com/hashicorp/raft"

// through is a log, or a store of term and vote, or both, of which read runs each read and write each write. Only read and write
// call the stores inside.
type through struct {
	raft.LogStore
	raft.StableStore
	read, write func(call func() error) error
}

func (t *through) FirstIndex() (uint64, error) { return valueOf(t.read, t.LogStore.FirstIndex) }

func (t *through) LastIndex() (uint64, error) { return valueOf(t.read, t.LogStore.LastIndex) }

func (t *through) GetLog(index uint64, l *raft.Log) error {
	return t.read(func() error { return t.LogStore.GetLog(index, l) })
}

func (t *through) StoreLog(l *raft.Log) error { return t.StoreLogs([]*raft.Log{l}) }

func (t *through) StoreLogs(logs []*raft.Log) error {
	return t.write(func() error { return t.LogStore.StoreLogs(logs) })
}

func (t *through) DeleteRange(first, last uint64) error {
	return t.write(func() error { return t.LogStore.DeleteRange(first, last) })
}

func (t *through) Set(key, val []byte) error {
	return t.write(func() error { return t.StableStore.Set(key, val) })
}

func (t *through) Get(key []byte) ([]byte, error) {
	return valueOf(t.read, func() ([]byte, error) { return t.StableStore.Get(key) })
}

func (t *through) SetUint64(key []byte, val uint64) error {
	return t.write(func() error { return t.StableStore.SetUint64(key, val) })
}

func (t *through) GetUint64(key []byte) (uint64, error) {
	return valueOf(t.read, func() (uint64, error) { return t.StableStore.GetUint64(key) })
}

// valueOf runs a read by do and returns its value.
func valueOf[T any](do func(func() error) error, read func() (T, error)) (value T, err error) {
	err = do(func() (err error) { value, err = read(); return err })
	return value, err
}
