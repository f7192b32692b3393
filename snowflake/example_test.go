package snowflake_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/snowraft/snowraft/snowflake"
)

func Example() {
	layout, _ := snowflake.Preset("twitter")
	parts, err := layout.Unpack(1541815603606036480)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(layout.TimeOf(1541815603606036480).Format(time.RFC3339Nano))
	fmt.Println("datacenter", parts.Datacenter, "worker", parts.Worker, "sequence", parts.Sequence)
	// Output:
	// 2022-06-28T16:07:40.105Z
	// datacenter 11 worker 26 sequence 0
}

func ExampleNew() {
	fields, err := snowflake.ParseFields("time:39,worker:16,sequence:8")
	if err != nil {
		fmt.Println(err)
		return
	}
	layout, err := snowflake.New(snowflake.Spec{
		Name:        "orders",
		Fields:      fields,
		UnitMillis:  10,
		EpochMillis: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli(),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(layout.Workers(), "workers,", layout.Sequences(), "IDs each in 10 ms")
	fmt.Println("full at", time.UnixMilli(layout.ExhaustsAt()).UTC().Format(time.DateOnly))
	// Output:
	// 65536 workers, 256 IDs each in 10 ms
	// full at 2200-03-19
}

func ExampleLayout_CanIssue() {
	layout, _ := snowflake.Preset("baidu")
	err := layout.CanIssue(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli())
	fmt.Println(errors.Is(err, snowflake.ErrExhausted))
	fmt.Println(err)
	// Output:
	// true
	// snowflake: time field exhausted: "baidu" has been full since 2024-11-20T13:24:16.000Z (now: 2026-01-01T00:00:00.000Z); choose a later epoch or more bits of time
}

func ExampleLayout_Compose() {
	layout := snowflake.Default()
	tick := layout.TickAt(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli())
	first := layout.Compose(tick, 7, layout.StartSequence(tick))
	for i := range uint64(3) {
		fmt.Println(first + i*layout.Step())
	}
	// Output:
	// 132271570944029411
	// 132271570944029412
	// 132271570944029413
}

func ExampleLayout_Pack() {
	_, err := snowflake.Default().Pack(snowflake.Parts{Tick: 1, Worker: 1024})
	fmt.Println(err)
	// Output:
	// snowflake: out of range: worker 1024 does not fit its 10 bits in layout "default", expected 0 to 1023
}

func ExampleEncoding() {
	const id = 132271570944028672
	for _, e := range snowflake.Encodings() {
		fmt.Println(e, e.Encode(id))
	}
	back, err := snowflake.Base32.Decode("3nfc9c000woo") // in lower case, with o for 0
	fmt.Println(back == id, err)
	// Output:
	// dec 132271570944028672
	// hex 1d5ec4b00007000
	// base32 3NFC9C000W00
	// base36 106ecwtpbfgg
	// base58 Jos2sncHm1
	// base62 9lnvBHUwdc
	// true <nil>
}
