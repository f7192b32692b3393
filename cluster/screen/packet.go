package screen

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
)

// maxPacket bounds a datagram, in bytes. memberlist puts less into one: 1400 bytes and a checksum.
const maxPacket = 2048

// Packet checks that a gossip datagram has the label and the form of members' datagrams. It returns a copy without the
// checksum, so that a kept message keeps no larger buffer. It refuses compressed datagrams, because members compress nothing.
//
// memberlist answers the returned datagram at most once, and sends that answer to the source of the datagram. So a stranger
// cannot turn one datagram into many, or direct answers at a third host.
func Packet(raw []byte, label string) ([]byte, error) {
	if len(raw) > maxPacket {
		return nil, refuse("a datagram of %d bytes", len(raw))
	}
	body, ok := bytes.CutPrefix(raw, LabelHead(label))
	if !ok {
		return nil, refuse("a datagram without the label")
	}
	if len(body) >= 5 && body[0] == kindChecked {
		if crc32.ChecksumIEEE(body[5:]) != binary.BigEndian.Uint32(body[1:]) {
			return nil, refuse("a wrong checksum")
		}
		body = body[5:]
	}
	body = bytes.Clone(body)
	var err error
	if len(body) > 1 && body[0] == kindCompound {
		err = compound(body[1:])
	} else {
		err = message(body)
	}
	if err != nil {
		return nil, err
	}
	return append(LabelHead(label), body...), nil
}

// IndirectPings returns the number of requests to ping another node in a datagram that Packet has returned. memberlist starts
// a goroutine and a timer for each.
func IndirectPings(raw []byte, label string) int {
	body := bytes.TrimPrefix(raw, LabelHead(label))
	if body[0] != kindCompound {
		body = append([]byte{kindCompound, 1, byte(len(body) >> 8), byte(len(body))}, body...) //nolint:gosec // at most 2 KiB
	}
	n := 0
	_ = compoundOf(body[1:], func(part []byte) error {
		if part[0] == kindIndirectPing {
			n++
		}
		return nil
	})
	return n
}

// LabelHead returns the first bytes of a datagram or a stream with the label.
func LabelHead(label string) []byte {
	head := []byte{kindLabel, byte(len(label))} //nolint:gosec // a label of ours
	return append(head, label...)
}

// compound checks a compound message: the number of messages, their lengths, and the messages, none of which is compound. At
// most one of them is answered.
func compound(raw []byte) error {
	answered := 0
	return compoundOf(raw, func(part []byte) error {
		if err := message(part); err != nil {
			return err
		}
		if k := part[0]; k == kindPing || k == kindIndirectPing || k == kindUser {
			answered++
		}
		if answered > 1 {
			return refuse("a compound with %d messages to answer", answered)
		}
		return nil
	})
}

func compoundOf(raw []byte, take func([]byte) error) error {
	parts := int(raw[0])
	if len(raw) < 1+2*parts {
		return refuse("a cut compound of %d", parts)
	}
	lengths, rest := raw[1:1+2*parts], raw[1+2*parts:]
	for ; len(lengths) > 0; lengths = lengths[2:] {
		n := int(binary.BigEndian.Uint16(lengths))
		if n > len(rest) {
			return refuse("a cut compound of %d", parts)
		}
		if err := take(rest[:n]); err != nil {
			return err
		}
		rest = rest[n:]
	}
	return nil
}

// message checks one message of a datagram. In a ping, it hides the address to answer to.
func message(raw []byte) error {
	if len(raw) == 0 {
		return refuse("an empty message")
	}
	if raw[0] == kindUser {
		return nil
	}
	take := datagrams[raw[0]]
	if take == nil {
		return refuse("a message of type %d in a datagram", raw[0])
	}
	s := &scanner{from: bytes.NewReader(raw[1:]), limit: len(raw) - 1}
	if err := take(s); err != nil {
		return err
	}
	if raw[0] == kindPing || raw[0] == kindIndirectPing {
		hideSource(raw)
	}
	return nil
}

// hideSource renames the fields of a ping with the address to answer to, in place. memberlist ignores fields that it does not
// know, and then answers to the source of the datagram.
func hideSource(ping []byte) {
	for at := bytes.Index(ping, sourceAddress); at >= 0; at = bytes.Index(ping, sourceAddress) {
		copy(ping[at:], hiddenAddress)
	}
}

var sourceAddress, hiddenAddress = []byte("SourceAddr"), []byte("hiddenAddr")
