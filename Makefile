# Every check that CI makes is a target here; `make help` lists them.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

GO       ?= go
PKGS     ?= ./...
TIMEOUT  ?= 25m
FUZZTIME ?= 5s
LINT     := bin/golangci-lint
# Programs of the npm registry that tests talk to, as package.json files pin them.
PEERS    := wsapi/testdata/msgpackr agent/openai/testdata/aimock client/js

.PHONY: help
help: ## list the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## build bin/turnlog
	$(GO) build -o bin/turnlog ./cmd/turnlog

.PHONY: deps
deps: ## install what the tests need: redis-server, node, python3 and jq (Debian), msgpackr, aimock, ws and tsc (npm)
	@tools/deps.sh redis-server:redis-server node:nodejs npm:npm python3:python3 jq:jq curl:curl
	@for peer in $(PEERS); do \
		if [ $$peer/package-lock.json -nt $$peer/node_modules/.package-lock.json ]; then (cd $$peer && npm ci --no-audit --no-fund); fi; done

.PHONY: fmt
fmt: ## format the code
	gofmt -w $$(git ls-files '*.go')

# The linter is pinned by tools/go.mod and built from there, so it needs nothing installed.
$(LINT): tools/go.mod tools/go.sum
	cd tools && $(GO) build -o ../$(LINT) github.com/golangci/golangci-lint/v2/cmd/golangci-lint

.PHONY: lint
lint: $(LINT) ## gofmt, go vet, golangci-lint (import directions included), tidy go.mod
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); if [ -n "$$unformatted" ]; then \
		echo "not formatted (run make fmt):"; echo "$$unformatted"; exit 1; fi
	$(GO) vet $(PKGS)
	$(LINT) run $(PKGS)
	$(GO) mod tidy -diff

.PHONY: test
test: deps ## run every test with the race detector, on miniredis and a real Redis
	$(GO) test -race -p 1 -timeout $(TIMEOUT) $(PKGS) # one package at a time: the heavy ones start fleets

.PHONY: race
race: test ## the same as test

.PHONY: test-quick
test-quick: deps ## run every test without the race detector
	$(GO) test -timeout $(TIMEOUT) $(PKGS)

.PHONY: test-redis
test-redis: deps ## run the log's tests (conformance on a real Redis included) again and again: COUNT=3
	$(GO) test -race -timeout $(TIMEOUT) -count $${COUNT:-3} ./eventlog/...

.PHONY: chaos
chaos: deps ## random faults under load, then judged: CHAOS_SECONDS=60, CHAOS_SEED to repeat a schedule
	CHAOS_SECONDS=$${CHAOS_SECONDS:-60} $(GO) test ./chaos -run '^TestChaos$$' -count 1 -v -timeout $(TIMEOUT)

.PHONY: fuzz
fuzz: ## fuzz every decoder for FUZZTIME (5s) each
	@GO=$(GO) FUZZTIME=$(FUZZTIME) tools/fuzz.sh

.PHONY: bench
bench: build deps ## short benchmark of the log and of live delivery on a real Redis
	tools/bench.sh

.PHONY: benchstat
benchstat: ## compare two outputs of go test -bench: OLD=a.txt NEW=b.txt
	cd tools && $(GO) tool benchstat $(abspath $(OLD)) $(abspath $(NEW))

.PHONY: generate
generate: deps ## rewrite generated files (docs/operations.md, docs/cli.md, views of commands, types of client/js)
	$(GO) test ./cmd/turnlog -run '^Test(SettingsTableInDocs|CommandsInDocs|ExamplesInDocs|Views)$$' -count 1 -update
	cd client/js && rm -rf types && npm run --silent types

.PHONY: generated
generated: deps ## check that generated files are up to date
	$(GO) test ./cmd/turnlog -run '^Test(SettingsTableInDocs|CommandsInDocs|Views)$$' -count 1
	$(GO) test ./client/js -run '^TestTypesAreGenerated$$' -count 1

.PHONY: up
up: build deps ## run three nodes on one local Redis until Ctrl-C
	deploy/local-up.sh

.PHONY: clean
clean: ## remove what make built
	rm -rf bin
