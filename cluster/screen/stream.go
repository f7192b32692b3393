package screen

import (
	"bytes"
	"io"
)

// MaxState bounds a message on a gossip stream, in bytes. The states of a thousand nodes fit.
const MaxState = 1 << 20

// maxError bounds the error text that a stranger sends, in bytes. The text is logged.
const maxError = 1 << 10

// Request reads the first message of a stranger on a gossip stream, behind the label: a ping or an exchange of the states of
// at most nodes nodes. It returns the label and the whole message.
func Request(from io.Reader, label string, nodes int) ([]byte, error) {
	s := &scanner{from: from, limit: MaxState}
	head := LabelHead(label)
	got, err := s.take(len(head))
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(got, head) {
		return nil, refuse("a stream without the label")
	}
	return s.stream(map[byte]rule{kindPing: datagrams[kindPing], kindPushPull: pushPull(nodes)})
}

// Answer reads a stranger's answer on a gossip stream to a ping or an exchange of states. Answers carry no label.
func Answer(from io.Reader, nodes int) ([]byte, error) {
	s := &scanner{from: from, limit: MaxState}
	return s.stream(map[byte]rule{
		kindAck: datagrams[kindAck], kindPushPull: pushPull(nodes), kindError: object(fields{"Error": text(maxError)}),
	})
}

func (s *scanner) stream(kinds map[byte]rule) ([]byte, error) {
	kind, err := s.byte()
	if err != nil {
		return nil, err
	}
	take := kinds[kind]
	if take == nil {
		return nil, refuse("a message of type %d on a stream", kind)
	}
	if err := take(s); err != nil {
		return nil, err
	}
	return s.taken, nil
}
