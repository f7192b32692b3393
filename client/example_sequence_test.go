package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/snowraft/snowraft/client"
)

// Numbers of a sequence; those of a strict one ascend wherever they are requested.
func ExampleSequence() {
	ctx := context.Background()
	c, err := client.New([]string{"10.0.0.1", "10.0.0.2", "10.0.0.3"})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	orders := c.Sequence("orders")

	number, err := orders.Next(ctx)
	if errors.Is(err, client.ErrSequenceExhausted) {
		log.Fatal("there are no numbers left: ", err)
	} else if err != nil {
		log.Fatal(err)
	}
	text, err := orders.NextText(ctx) // in the sequence's format, such as ORD20260301000002
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(number, text)

	// A hundred in one run.
	numbers, err := orders.Take(ctx, 100)
	if err != nil {
		log.Fatal(err)
	}
	for number := range numbers.All() {
		fmt.Println(number)
	}

	// The same numbers however often the request is repeated, within 10 minutes.
	numbers, err = orders.TakeOnce(ctx, "invoice-run-2026-03", 100)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(numbers.First)
}

// Numbers of a relaxed sequence from this process's memory.
func ExampleBlocks() {
	ctx := context.Background()
	c, err := client.New([]string{"10.0.0.1", "10.0.0.2", "10.0.0.3"})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	tickets, err := client.NewBlocks(c, "tickets")
	if err != nil {
		log.Fatal(err)
	}
	defer func() {
		if err := tickets.Close(ctx); err != nil { // returns what is left
			log.Print(err)
		}
	}()

	number, err := tickets.Next(ctx)
	if errors.Is(err, client.ErrStrictSequence) {
		log.Fatal("take a Sequence: ", err)
	} else if err != nil {
		log.Fatal(err)
	}
	fmt.Println(number)
}
