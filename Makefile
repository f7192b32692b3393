# "make" prints what there is to do here. The same targets run in CI, see .ci/run.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

VERSION   ?= $(shell git describe --tags --always --dirty 2>/dev/null)
FUZZTIME  ?= 10s
BENCH     ?= .
TESTFLAGS ?=
BENCHFLAGS ?=
ARCHES    ?= amd64 arm64

# Sections of the measurements whose preparations alone take long.
SLOW_SECTIONS := state-machine,many-state,commands

# Sections of the measurements that need what bench-clients builds.
CLIENT_SECTIONS := java,typescript,python,strict-clients

# The packages whose tests take longest start first, so that the cores stay busy to the end.
PACKAGES := $(wildcard ./internal/test/simtest ./server ./cluster ./cmd/snowraft ./fsm ./allocator) ./...

##@ Build

.PHONY: help
help: ## Print this help
	@awk 'BEGIN { FS = ":.*## " } \
		/^##@ / { printf "\n%s\n", substr($$0, 5) } \
		/^[a-z-]+:.*## / { printf "  %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build bin/snowraft
	CGO_ENABLED=0 go build -ldflags '-X main.version=$(VERSION)' -o bin/snowraft ./cmd/snowraft

.PHONY: cross
cross: ## Check that it builds for other platforms
	GOOS=linux GOARCH=arm64 CGO_ENABLED=0 go build ./...
	GOOS=darwin GOARCH=arm64 CGO_ENABLED=0 go build ./...
	GOOS=freebsd GOARCH=amd64 CGO_ENABLED=0 go build ./...
	GOOS=windows GOARCH=amd64 CGO_ENABLED=0 go build -o /dev/null ./cmd/snowraft
	GOOS=windows GOARCH=amd64 CGO_ENABLED=0 go vet ./client/... ./cmd/...

.PHONY: chart
chart: ## Write the Helm chart into dist
	@$(if $(filter command line environment,$(origin VERSION)),VERSION=$(VERSION)) internal/tools/chart.sh

.PHONY: image
image: ## Write the container image into dist, without a container engine
	@$(if $(filter command line environment,$(origin VERSION)),VERSION=$(VERSION)) internal/tools/image.sh

.PHONY: clean
clean: ## Remove what was built
	rm -rf bin dist

.PHONY: proof
proof: build proof-clients ## Count the numbers that come twice under faults, in all systems (SEEDS=1-10, ONLY, AT_ONCE; root; docs/proof.md)
	go -C bench run ./proof --seeds $(or $(SEEDS),$(SEED),1) --only "$(ONLY)" --at-once $(or $(AT_ONCE),2) --out proof/out

.PHONY: proof-clients
proof-clients: ## Build the applications of the proof in other languages
	cd clients/typescript && npm ci --no-audit --no-fund --silent && npm run --silent build
	mvn -q -B -f clients/java -Pproof -DskipTests -Dmaven.javadoc.skip -Dmaven.source.skip package

.PHONY: proof-document
proof-document: ## Write the table and the pictures of docs/proof.md from the runs in bench/proof/out
	go -C bench run ./proof document --out proof/out

.PHONY: proof-check
proof-check: proof-clients ## Check that the proof counts a planted bug of Snowraft, Redis and a library (root, Debian's redis-server)
	go -C bench test -count=1 -timeout 20m -tags proof -parallel 4 -run '^TestBugIsCounted$$' $(TESTFLAGS) ./proof

##@ Release

.PHONY: release
release: ## Make the files of a release in dist (VERSION: that of the tag)
	@$(if $(filter command line environment,$(origin VERSION)),VERSION=$(VERSION)) internal/tools/release.sh

.PHONY: release-check
release-check: ## Make a release twice and compare the two byte for byte (ONCE=yes: make it once and check its files)
	@internal/tools/release-check.sh $(if $(ONCE),--once)

.PHONY: install-check
install-check: ## Play docs/install.md on bare Debian machines (root; Debian's mmdebstrap and systemd-container; dist)
	@internal/tools/tagged-tests.sh install -v $(TESTFLAGS)

##@ Test

.PHONY: test
test: ## Run the tests (TESTFLAGS are passed on to go test)
	go test $(TESTFLAGS) $(PACKAGES)

.PHONY: race
race: ## Run the tests with the race detector
	CGO_ENABLED=1 GOGC=400 go test -race -timeout 30m $(TESTFLAGS) $(PACKAGES)

.PHONY: mutants
mutants: ## Plant bugs and check that the tests catch them (some minutes)
	@internal/tools/tagged-tests.sh mutants -timeout 30m $(TESTFLAGS)

.PHONY: smoke
smoke: ## Run the tests that start the real program as processes
	@internal/tools/tagged-tests.sh process $(TESTFLAGS)

.PHONY: monitoring
monitoring: ## Run the queries of dashboards in a Prometheus that scrapes real members (Debian's prometheus)
	@internal/tools/tagged-tests.sh prometheus $(TESTFLAGS)

.PHONY: redis-clients
redis-clients: ## Use real members with Redis libraries of Go, npm, PyPI and Maven, which it installs, and of Debian
	go -C internal/test/processtest/testdata/redisclients vet ./...
	@internal/tools/tagged-tests.sh redisclients $(TESTFLAGS)

.PHONY: examples
examples: ## Run the order services of examples at real members, and kill a member
	@internal/tools/tagged-tests.sh examples $(TESTFLAGS)

.PHONY: databases
databases: ## Import counters from real databases while programs draw numbers, and play the recipe of document numbers
	@internal/tools/tagged-tests.sh databases $(TESTFLAGS)

.PHONY: s3
s3: ## Write backups into a real server of S3 and restore them (versitygw, a module of its own)
	go -C internal/test/s3test vet ./...
	go -C internal/test/s3test test -count=1 -timeout 25m $(TESTFLAGS) ./...

.PHONY: clients
clients: clients-typescript clients-java clients-python ## Build, lint, test and pack the clients for TypeScript, Java and Python

.PHONY: clients-typescript
clients-typescript:
	cd clients/typescript && npm ci --no-audit --no-fund && npm run build && npm run lint && npm test && npm run test:newest && npm run docs && npm run package

# The JDK of the newest release that the Java client is tested with, if it is installed.
NEWEST_JAVA := $(lastword $(wildcard /usr/lib/jvm/*-25-*/bin/java))

.PHONY: clients-java
clients-java:
	cd clients/java && mvn -q -B verify
	$(if $(NEWEST_JAVA),cd clients/java && mvn -q -B -pl client surefire:test -Djvm=$(NEWEST_JAVA),@echo 'Java 25 is not installed: the Java client is tested with one JDK')
	test "$$(jdeps -s clients/java/client/target/snowraft-client-[0-9.]*[0-9].jar)" = "io.snowraft.client -> java.base"

.PHONY: frameworks-java
frameworks-java: ## Test the Java modules for Hibernate, MyBatis-Plus and Spring Boot at real members
	CGO_ENABLED=0 go build -o bin/snowraft ./cmd/snowraft
	cd clients/java && mvn -q -B -Pframeworks verify

.PHONY: clients-python
clients-python: bin/python/ready
	cd clients/python && $(CURDIR)/bin/python/bin/mypy && $(CURDIR)/bin/python/bin/pytest -q
	rm -rf clients/python/dist && bin/python/bin/python -m build --outdir clients/python/dist clients/python
	rm -rf bin/python-packed && python3 -m venv bin/python-packed
	bin/python-packed/bin/pip install -q --no-index clients/python/dist/*.whl
	test "$$(bin/python-packed/bin/pip list --format=freeze --exclude pip --exclude setuptools | sed 's/==.*//')" = snowraft

bin/python/ready: clients/python/pyproject.toml
	python3 -m venv bin/python
	bin/python/bin/pip install -q './clients/python[dev]'
	@touch $@

.PHONY: frameworks
frameworks: frameworks-java frameworks-typescript frameworks-python ## Test the packages for Spring Boot, Hibernate, MyBatis-Plus, Prisma, Django and SQLAlchemy at real members

.PHONY: frameworks-typescript
frameworks-typescript: build
	cd clients/typescript && npm ci --no-audit --no-fund
	cd clients/prisma && npm ci --no-audit --no-fund --ignore-scripts && npm test

.PHONY: frameworks-python
frameworks-python: build bin/frameworks/ready
	rm -rf bin/frameworks/wheels
	bin/frameworks/bin/pip wheel -q --no-deps -w bin/frameworks/wheels ./clients/python ./clients/sqlalchemy ./clients/django
	bin/frameworks/bin/pip install -q --force-reinstall --no-deps bin/frameworks/wheels/*.whl
	for package in sqlalchemy django; do \
		cd $(CURDIR)/clients/$$package && PYTHONPATH=tests ../../bin/frameworks/bin/mypy && \
		SNOWRAFT_PROGRAM=$(CURDIR)/bin/snowraft ../../bin/frameworks/bin/pytest -q || exit; done

bin/frameworks/ready: clients/python/pyproject.toml clients/sqlalchemy/pyproject.toml clients/django/pyproject.toml
	rm -rf bin/frameworks
	python3 -m venv bin/frameworks
	bin/frameworks/bin/pip install -q ./clients/python './clients/sqlalchemy[dev]' './clients/django[dev]'
	@touch $@

.PHONY: conformance
conformance: clients ## Run one suite against the clients of all languages and real members (CONFORMANCEFLAGS: --only NAME, --count N, --leaks 10m)
	PYTHON=$(CURDIR)/bin/python-packed/bin/python go run ./conformance $(CONFORMANCEFLAGS)

.PHONY: foreign
foreign: ## Play libraries of Maven, Go, npm and PyPI that make IDs, alone, with leased workers and with segments, as root
	@internal/tools/tagged-tests.sh foreign $(TESTFLAGS)

.PHONY: chart-check
chart-check: bin/helm bin/golangci-lint ## Lint the Helm chart, check what it renders, and run clusters from it
	cd deploy/helm && ../../bin/golangci-lint run
	go -C deploy/helm test -count=1 $(TESTFLAGS) ./...

.PHONY: browser
browser: ## Run the tests of the console in Chromium
	@internal/tools/tagged-tests.sh browser $(TESTFLAGS)

.PHONY: screenshots
screenshots: ## Make the pictures of the console in docs/images
	@mkdir -p docs/images
	go test -tags browser -count=1 -v -run '^TestScreenshots$$' ./internal/test/processtest -args -screenshots $(CURDIR)/docs/images

.PHONY: root
root: ## Run the tests that need root: networks, disks and clocks that fail
	@internal/tools/tagged-tests.sh root $(TESTFLAGS)

.PHONY: siege
siege: ## Attack the ports for clients of a member in a cgroup of 1 GiB for a minute (root)
	go test -tags root -count=1 -v ./internal/test/siegetest $(TESTFLAGS)

.PHONY: packages-test
packages-test: bin/nfpm ## Install, run and remove the packages under a systemd in namespaces (root; Debian's systemd and rpm)
	@internal/tools/tagged-tests.sh packages $(TESTFLAGS)

.PHONY: chaos
chaos: ## Run members under chaos for 10 minutes (root; CHAOSFLAGS: --seed 2, --secure)
	go run ./jepsen run --workload all --nemesis all --duration 10m $(CHAOSFLAGS)

.PHONY: chaos-siege
chaos-siege: ## Measure for 10 minutes what hostile traffic costs clients (root; CHAOSFLAGS: --secure)
	go run ./jepsen siege $(CHAOSFLAGS)

.PHONY: chaos-mutants
chaos-mutants: ## Plant bugs in members and check that runs under chaos catch them (root)
	go run ./jepsen mutants $(CHAOSFLAGS)

.PHONY: chaos-scenarios
chaos-scenarios: ## Play what went wrong in other systems (root)
	go run ./jepsen scenario all $(CHAOSFLAGS)

.PHONY: chaos-nightly
chaos-nightly: ## Run all of chaos for hours, with seeds of the day (root)
	jepsen/nightly.sh

.PHONY: fuzz
fuzz: ## Fuzz with each Fuzz function for FUZZTIME (10s)
	@internal/tools/fuzz.sh $(FUZZTIME)

.PHONY: microbench
microbench: ## Run the Go benchmarks that match BENCH (.)
	go test -run '^$$' -bench '$(BENCH)' -benchmem $(TESTFLAGS) ./...

.PHONY: bench
bench: build bench-clients ## Measure, and write the tables of docs (BENCHFLAGS: --long, --only NAME)
	go -C bench run . --write $(BENCHFLAGS)

.PHONY: bench-check
bench-check: build bin/golangci-lint ## Lint what measures and check that it works, without believing its numbers
	cd bench && ../bin/golangci-lint run
	go -C bench test ./...
	go -C bench run . --rounds 1 --duration 100ms --except $(SLOW_SECTIONS),$(CLIENT_SECTIONS)

.PHONY: bench-clients
bench-clients: bin/bench-python/ready ## Build what measures the clients for TypeScript, Java and Python
	cd clients/typescript && npm ci --no-audit --no-fund --silent && npm run --silent build && npm run --silent package
	npm ci --prefix bench/clients/typescript --no-audit --no-fund --silent
	mvn -q -B -f clients/java -Pbench -DskipTests -Dmaven.javadoc.skip -Dmaven.source.skip package

bin/bench-python/ready: clients/python/pyproject.toml bench/clients/python/requirements.txt
	python3 -m venv bin/bench-python
	bin/bench-python/bin/pip install -q -e clients/python -r bench/clients/python/requirements.txt
	@touch $@

.PHONY: bench-clients-check
bench-clients-check: build bench-clients ## Check that measuring the clients works, without believing its numbers
	go -C bench run . --rounds 1 --duration 100ms --only $(CLIENT_SECTIONS)

##@ Release

.PHONY: packages
packages: bin/nfpm ## Make the .deb and the .rpm in dist, for each of ARCHES (amd64 arm64)
	@for arch in $(ARCHES); do $(if $(filter command line environment,$(origin VERSION)),VERSION=$(VERSION)) deploy/linux/package.sh "$$arch" dist || exit; done

##@ Check

.PHONY: rules
rules: ## Check and test the alerting rules (Debian's prometheus)
	promtool check rules deploy/prometheus/rules.yaml
	promtool test rules deploy/prometheus/*_test.yaml

.PHONY: lint
lint: bin/golangci-lint ## Lint, with all that build tags add, and count wording to avoid
	@internal/tools/style.sh
	bin/golangci-lint run --build-tags browser,databases,examples,foreign,install,mutants,packages,process,prometheus,proof,redisclients,root

.PHONY: fmt
fmt: bin/golangci-lint bin/.protos ## Format the Go code and the protos
	bin/golangci-lint fmt
	cd bench && ../bin/golangci-lint fmt
	cd deploy/helm && ../../bin/golangci-lint fmt
	bin/buf format --write --exclude-path proto/google proto

.PHONY: proto-lint
proto-lint: bin/.protos ## Lint the protos
	bin/buf lint proto
	bin/buf format --diff --exit-code --exclude-path proto/google proto

.PHONY: proto-breaking
proto-breaking: bin/.protos ## Compare the protos with the last release, or the commit before
	@internal/tools/proto-breaking.sh

.PHONY: generate-check
generate-check: bin/.protos ## Check that the generated code is current
	@internal/tools/generate-check.sh

.PHONY: tidy-check
tidy-check: ## Check that each go.mod and go.sum is tidy
	go mod tidy -diff
	cd internal/tools && go mod tidy -diff
	cd internal/tools/nfpm && go mod tidy -diff
	cd bench && go mod tidy -diff
	cd deploy/helm && go mod tidy -diff
	cd internal/test/processtest/testdata/redisclients && go mod tidy -diff
	cd internal/test/foreign/testdata/go && go mod tidy -diff
	cd internal/test/s3test && go mod tidy -diff

.PHONY: vulncheck
vulncheck: bin/govulncheck ## Look up the dependencies in the vulnerability database
	@internal/tools/vulncheck.sh

.PHONY: gate
gate: ## Run the checks that each change must pass (GATEFLAGS: -list, -since COMMIT, names of parts)
	@go run ./internal/build/gate $(GATEFLAGS)

.PHONY: nightly
nightly: ## Run all checks whole, as root, and continue after an interruption; logs in nightly
	@go run ./internal/build/gate -nightly $(GATEFLAGS)

.PHONY: slice
slice: ## Move the gate to the next eighth of the long checks, as the last commit of a piece of work
	@echo $$(($$(cat .ci/slice) % 8 + 1)) >.ci/slice

.PHONY: ci
ci: ## Install what the gate needs, and run it, as CI does
	.ci/run

##@ Generate

.PHONY: generate
generate: bin/.protos ## Generate the code from the protos
	@internal/tools/generate.sh proto

.PHONY: tools
tools: bin/golangci-lint bin/govulncheck bin/.protos ## Build the pinned tools into bin

# Each tool is built when a target needs it: from an empty build cache, all of them together take minutes.
build_tool = go build -C internal/tools -ldflags '-s -w' -o '$(CURDIR)/bin/'

bin/golangci-lint: internal/tools/go.mod internal/tools/go.sum
	$(build_tool) github.com/golangci/golangci-lint/v2/cmd/golangci-lint
	@touch $@

bin/govulncheck: internal/tools/go.mod internal/tools/go.sum
	$(build_tool) golang.org/x/vuln/cmd/govulncheck
	@touch $@

bin/.protos: internal/tools/go.mod internal/tools/go.sum
	$(build_tool) github.com/bufbuild/buf/cmd/buf google.golang.org/protobuf/cmd/protoc-gen-go google.golang.org/grpc/cmd/protoc-gen-go-grpc \
		github.com/grpc-ecosystem/grpc-gateway/v2/protoc-gen-grpc-gateway github.com/grpc-ecosystem/grpc-gateway/v2/protoc-gen-openapiv2
	@touch $@

bin/helm: deploy/helm/go.mod deploy/helm/go.sum
	go build -C deploy/helm -ldflags '-s -w' -o '$(CURDIR)/bin/' helm.sh/helm/v3/cmd/helm

bin/nfpm: internal/tools/nfpm/go.mod internal/tools/nfpm/go.sum
	go build -C internal/tools/nfpm -ldflags '-s -w' -o '$(CURDIR)/bin/' tool
	@touch $@
