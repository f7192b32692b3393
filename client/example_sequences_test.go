package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/snowraft/snowraft/client"
	"github.com/snowraft/snowraft/sequence"
)

// A program creates the sequence that it needs. Creating the same sequence again does no harm.
func ExampleClient_CreateSequence() {
	addrs, stop := startMember()
	defer stop()
	ctx := context.Background()
	c, err := client.New(addrs)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	for range 2 {
		info, err := c.CreateSequence(ctx, client.SequenceSpec{
			Name: "invoices", Start: new(int64(1000)), Reset: sequence.ResetYearly, Format: "{date:yyyy}-{seq:05}",
		})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(info.Name, info.Mode, *info.Next)
	}

	number, err := c.Sequence("invoices").Next(ctx)
	if err != nil {
		log.Fatal(err)
	}
	last, _, err := c.Sequence("invoices").Last(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(number, last)
	// Output:
	// invoices strict 1000
	// invoices strict 1000
	// 1000 1000
}

// A change that depends on a state that was read names its generation, so that it does not undo another change.
func ExampleClient_UpdateSequence() {
	addrs, stop := startMember()
	defer stop()
	ctx := context.Background()
	c, err := client.New(addrs)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	seen, err := c.CreateSequence(ctx, client.SequenceSpec{Name: "tickets", Mode: client.ModeRelaxed})
	if err != nil {
		log.Fatal(err)
	}

	for _, most := range []int64{999_999, 9_999_999} {
		info, err := c.UpdateSequence(ctx, "tickets", client.SequenceUpdate{Max: &most}, client.WithSequenceGeneration(seen.Generation))
		switch {
		case errors.Is(err, client.ErrGenerationMismatch):
			fmt.Println("changed meanwhile")
		case err != nil:
			log.Fatal(err)
		default:
			fmt.Println("at most", *info.Max, "unreached:", info.UnreachedMembers)
		}
	}
	// Output:
	// at most 999999 unreached: []
	// changed meanwhile
}

func ExampleClient_ListSequences() {
	addrs, stop := startMember()
	defer stop()
	ctx := context.Background()
	c, err := client.New(addrs)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	for _, name := range []string{"shop/orders", "shop/invoices", "parcels"} {
		if _, err := c.CreateSequence(ctx, client.SequenceSpec{Name: name}); err != nil {
			log.Fatal(err)
		}
	}

	for info, err := range c.ListSequences(ctx, "shop/") {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(info.Name, info.Remaining)
	}
	// Output:
	// shop/invoices 9223372036854775807
	// shop/orders 9223372036854775807
}
