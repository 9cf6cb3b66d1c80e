//go:build tools

package main

// What tests/e2e/build.py builds too; named here for `go mod tidy`.
import _ "sigs.k8s.io/descheduler/cmd/descheduler"
