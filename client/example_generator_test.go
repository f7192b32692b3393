package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"time"

	"github.com/snowraft/snowraft/client"
)

func ExampleNewGenerator() {
	c, err := client.New([]string{"snowraft-1:7700", "snowraft-2:7700"})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	g, err := client.NewGenerator(c)
	if err != nil {
		log.Fatal(err)
	}
	defer g.Close(context.Background()) // releases the worker

	id, err := g.Next(context.Background()) // from memory
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(id)
}

// A pod of a StatefulSet has a stable name. With several lanes, it can issue more than 4,096 IDs per millisecond.
func ExampleNewGenerator_options() {
	c, err := client.New([]string{"snowraft:7700"})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	g, err := client.NewGenerator(c,
		client.WithGeneratorHolder("orders-0"),
		client.WithGeneratorLanes(4),
		client.WithGeneratorLogger(slog.Default()),
	)
	if err != nil {
		log.Fatal(err)
	}
	defer g.Close(context.Background())
	ranges, err := g.Ranges(context.Background(), 10_000)
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range ranges {
		for id := range r.All() {
			fmt.Println(id)
		}
	}
}

// Every obstacle to issuing is temporary; the caller decides whether to wait until it is gone.
func ExampleGenerator_Next() {
	c, err := client.New([]string{"snowraft:7700"})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	g, err := client.NewGenerator(c, client.WithGeneratorNoWait())
	if err != nil {
		log.Fatal(err)
	}
	defer g.Close(context.Background())

	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	id, err := g.Next(ctx)
	var e *client.Error
	switch {
	case err == nil:
		fmt.Println(id)
	case errors.Is(err, client.ErrWorkersExhausted) && errors.As(err, &e):
		fmt.Println("all workers are held; the first may be free in", e.RetryAfter)
	case errors.Is(err, client.ErrClockSkew), errors.Is(err, client.ErrClockBehind):
		fmt.Println("this machine's clock is off:", err)
	case errors.Is(err, client.ErrWindowEnded):
		fmt.Println("quorum was lost for longer than the window lasted:", err)
	default:
		fmt.Println(err)
	}
}

// A program can export metrics of a generator: the worker of each lane, and the time for which it can issue without the
// cluster.
func ExampleGenerator_Lanes() {
	c, err := client.New([]string{"snowraft:7700"})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	g, err := client.NewGenerator(c)
	if err != nil {
		log.Fatal(err)
	}
	defer g.Close(context.Background())
	for _, lane := range g.Lanes() {
		fmt.Println(lane.Lane, lane.Worker, lane.Token, time.Until(lane.ServeUntil), lane.Problem)
	}
}
