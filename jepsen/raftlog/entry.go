package raftlog

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/hashicorp/raft"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"

	"github.com/snowraft/snowraft/fsm"
)

// Entry is an entry of the Raft log.
type Entry struct {
	Index, Term uint64
	Type        raft.LogType
	Data        []byte
}

// Command decodes the command of an entry with type raft.LogCommand.
func (e Entry) Command() (*commandv1.Command, error) {
	if e.Type != raft.LogCommand {
		return nil, fmt.Errorf("entry %d has type %v, expected a command", e.Index, e.Type)
	}
	return fsm.Decode(e.Data)
}

// Configuration decodes the configuration of an entry with type raft.LogConfiguration.
func (e Entry) Configuration() (c raft.Configuration, err error) {
	if e.Type != raft.LogConfiguration {
		return c, fmt.Errorf("entry %d has type %v, expected a configuration", e.Index, e.Type)
	}
	defer func() {
		if r := recover(); r != nil { // the library panics on invalid data
			err = fmt.Errorf("entry %d: %v", e.Index, r)
		}
	}()
	return raft.DecodeConfiguration(e.Data), nil
}

// entrySum returns the checksum that members store with an entry: CRC32C of index, term, type and data.
func entrySum(e *Entry) uint32 {
	var head [17]byte
	binary.BigEndian.PutUint64(head[0:], e.Index)
	binary.BigEndian.PutUint64(head[8:], e.Term)
	head[16] = byte(e.Type)
	return crc32.Update(crc32.Checksum(head[:], castagnoli), castagnoli, e.Data)
}
