package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/snowraft/snowraft/client"
)

// A Buffer issues IDs from this process's memory.
func ExampleBuffer() {
	ctx := context.Background()
	c, err := client.New([]string{"10.0.0.1", "10.0.0.2", "10.0.0.3"})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	ids, err := client.NewBuffer(c.IDs("default"))
	if err != nil {
		log.Fatal(err)
	}
	defer ids.Close()

	id, err := ids.Next(ctx) // nanoseconds, unless the buffer is empty
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(id)
}

// A program that must not delay its requests fails when the buffer is empty.
func ExampleWithBufferNoWait() {
	ctx := context.Background()
	c, err := client.New([]string{"10.0.0.1"})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	ids, err := client.NewBuffer(c.IDs(""),
		client.WithBufferNoWait(),
		client.WithBufferSize(10_000, 10_000_000),
		client.WithBufferAge(time.Minute), // bridges an outage of 1 min
	)
	if err != nil {
		log.Fatal(err)
	}
	defer ids.Close()
	if err := ids.WaitReady(ctx); err != nil { // the first IDs are there
		log.Fatal(err)
	}

	switch id, err := ids.Next(ctx); {
	case errors.Is(err, client.ErrEmpty):
		log.Print("try again later: ", err)
	case err != nil:
		log.Fatal(err)
	default:
		fmt.Println(id)
	}
}
