package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/snowraft/snowraft/client"
)

// The numbers of a strict sequence ascend across all processes.
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

	// A hundred numbers in one run.
	numbers, err := orders.Take(ctx, 100)
	if err != nil {
		log.Fatal(err)
	}
	for number := range numbers.All() {
		fmt.Println(number)
	}

	// A repetition of the request within 10 minutes returns the same numbers.
	numbers, err = orders.TakeOnce(ctx, "invoice-run-2026-03", 100)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(numbers.First)
}

// Blocks issues numbers of a relaxed sequence from this process's memory.
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
		if err := tickets.Close(ctx); err != nil { // returns the rest to the cluster
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
