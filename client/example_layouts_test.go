package client_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/snowraft/snowraft/client"
	"github.com/snowraft/snowraft/snowflake"
)

// A program creates a layout of its own: its ticks of 10 ms last for more than 300 years.
func ExampleClient_CreateLayout() {
	addrs, stop := startMember()
	defer stop()
	ctx := context.Background()
	c, err := client.New(addrs)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	layout, err := c.CreateLayout(ctx, snowflake.Spec{
		Name: "long", UnitMillis: 10, EpochMillis: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli(),
		Fields: []snowflake.FieldBits{
			{Field: snowflake.FieldTime, Bits: 40}, {Field: snowflake.FieldWorker, Bits: 10}, {Field: snowflake.FieldSequence, Bits: 13},
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(layout.Name(), "until", time.UnixMilli(layout.ExhaustsAt()).UTC().Year())

	id, err := c.IDs("long").Next(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(time.Since(layout.TimeOf(uint64(id))) < time.Minute)

	for l, err := range c.ListLayouts(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(l.Name(), l.Workers())
	}
	// Output:
	// long until 2374
	// true
	// default 1024
	// long 1024
}

// A program waits for IDs before it accepts requests.
func ExampleClient_WaitReady() {
	addrs, stop := startMember()
	defer stop()
	c, err := client.New(addrs)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := c.WaitReady(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println(c.Ready()) // the result for a health check
	// Output: <nil>
}
