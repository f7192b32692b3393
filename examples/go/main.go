// Orders is an order service: POST /orders answers an ID and a number, such as {"id":"253081673229410738","number":"ORD-00001"}.
package main

import (
	"context"
	"encoding/json"
	"log"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/snowraft/snowraft/client"
)

func main() {
	members := strings.Split(os.Getenv("SNOWRAFT_MEMBERS"), ",") // some addresses of gRPC; the client learns the others
	c, err := client.New(members, client.WithToken(os.Getenv("SNOWRAFT_TOKEN")), client.WithTimeout(5*time.Second))
	if err != nil {
		log.Fatal(err)
	}
	ids, err := client.NewGenerator(c) // issues in this process, also while no member can be reached
	if err != nil {
		log.Fatal(err)
	}
	orders := c.Sequence("orders")

	http.HandleFunc("POST /orders", func(w http.ResponseWriter, r *http.Request) {
		key := r.Header.Get("Idempotency-Key") // a customer who repeats the request gets the same number
		if key == "" {
			http.Error(w, "the header Idempotency-Key is missing", http.StatusBadRequest)
			return
		}
		id, err := ids.Next(r.Context())
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		numbers, err := orders.TextsOnce(r.Context(), key, 1)
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		// A real service inserts the order here, with a unique index on the number.
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(map[string]string{"id": strconv.FormatInt(id, 10), "number": numbers[0]})
	})

	server := &http.Server{Addr: os.Getenv("LISTEN"), ReadHeaderTimeout: 5 * time.Second}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	context.AfterFunc(ctx, func() { _ = server.Close() })
	log.Print(server.ListenAndServe())
	_ = ids.Close(context.Background()) // releases the worker
	_ = c.Close()
}
