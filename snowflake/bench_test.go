package snowflake_test

import (
	"testing"

	"github.com/snowraft/snowraft/snowflake"
)

const benchMillis = 1_800_000_000_000 // January 2027

func BenchmarkCompose(b *testing.B) {
	l := snowflake.Default()
	tick := l.TickAt(benchMillis)
	var sum, sequence uint64
	for b.Loop() {
		sequence++
		sum += l.Compose(tick, 7, sequence&4095)
	}
	sink = sum
}

func BenchmarkTickAt(b *testing.B) {
	for _, name := range []string{"default", "sonyflake"} { // 1 ms and 10 ms
		l, _ := snowflake.Preset(name)
		b.Run(name, func(b *testing.B) {
			var sum, now int64 = 0, benchMillis
			for b.Loop() {
				now++
				sum += l.TickAt(now)
			}
			sink = uint64(sum)
		})
	}
}

func BenchmarkUnpack(b *testing.B) {
	l := snowflake.Default()
	id := l.Compose(l.TickAt(benchMillis), 7, 0)
	var sum uint64
	for b.Loop() {
		id++
		p, err := l.Unpack(id)
		if err != nil {
			b.Fatal(err)
		}
		sum += p.Sequence
	}
	sink = sum
}

func BenchmarkAppend(b *testing.B) {
	id := snowflake.Default().Compose(1<<40, 7, 42)
	for _, e := range snowflake.Encodings() {
		b.Run(e.String(), func(b *testing.B) {
			buf := make([]byte, 0, 20)
			for b.Loop() {
				buf = e.Append(buf[:0], id)
			}
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	id := snowflake.Default().Compose(1<<40, 7, 42)
	for _, e := range snowflake.Encodings() {
		text := e.Encode(id)
		b.Run(e.String(), func(b *testing.B) {
			for b.Loop() {
				if _, err := e.Decode(text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

var sink uint64 // keeps results alive
