//go:build linux

package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

// etcdSystems are three members of etcd. The revision that a write gets is the number.
func etcdSystems() []system {
	return []system{{
		name: "etcd", title: "etcd, revision of a `put`", settings: "defaults", version: output("/usr/bin/etcd", "--version"),
		start: func(ctx context.Context, p *play) (func(int) *spec, error) {
			err := startEtcd(ctx, p)
			return func(int) *spec { return driver("etcd", p.addresses(2379)) }, err
		},
	}}
}

func startEtcd(ctx context.Context, p *play) error {
	var members []string
	for i := range 3 {
		b, err := p.host(ctx, fmt.Sprint("etcd", i+1))
		if err != nil {
			return err
		}
		p.servers = append(p.servers, b)
		members = append(members, fmt.Sprintf("%s=http://%s:2380", b.Name, b.IP))
	}
	for _, b := range p.servers {
		peer, clients := fmt.Sprintf("http://%s:2380", b.IP), fmt.Sprintf("http://%s:2379", b.IP)
		if err := b.start(&spec{path: "/usr/bin/etcd", args: []string{
			"--name", b.Name, "--data-dir", filepath.Join(b.dir, "data"), "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
			"--listen-client-urls", clients, "--advertise-client-urls", clients, "--initial-cluster", strings.Join(members, ","), "--initial-cluster-state", "new",
		}}); err != nil {
			return err
		}
	}
	c, err := clientv3.New(clientv3.Config{Endpoints: strings.Split(p.addresses(2379), ","), DialTimeout: patience, Logger: zap.NewNop()})
	if err != nil {
		return err
	}
	p.primary = func(ctx context.Context) (*box, error) {
		for _, b := range p.servers {
			limited, cancel := context.WithTimeout(ctx, patience)
			status, err := c.Status(limited, b.IP+":2379")
			cancel()
			if err == nil && status.Header.GetMemberId() == status.Leader {
				return b, nil
			}
		}
		return nil, fmt.Errorf("no member of etcd leads")
	}
	return until(ctx, "etcd has a leader", func() bool { _, err := p.primary(ctx); return err == nil })
}

func driveEtcd(args []string) (source, error) {
	c, err := clientv3.New(clientv3.Config{Endpoints: strings.Split(args[0], ","), DialTimeout: patience})
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (string, error) {
		answer, err := c.Put(ctx, "orders", "")
		if err != nil {
			return "", err
		}
		return strconv.FormatInt(answer.Header.GetRevision(), 10), nil
	}, nil
}
