// Command descheduler asks the Kubernetes Descheduler v0.36 what it would evict from a dumped cluster.
//
// It links the real policy loader, profiles, plugins, default evictor and eviction limits as a module and replaces only
// the API server: informer caches are filled from a dump, and an eviction removes the pod from the caches at once.
// The descheduler's own dry run removes it a moment later, in the background; at once is the reading that repeats.
//
//	descheduler < requests                          one JSON request a line, one JSON answer a line
//	descheduler -f DUMP [-f MORE] -policy POLICY    one question about files
//
// Build: CGO_ENABLED=0 go build -trimpath -o build/oracle/descheduler . (build.py does it).
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"sigs.k8s.io/descheduler/pkg/descheduler"
)

type pathList []string

func (p *pathList) String() string { return strings.Join(*p, ",") }

func (p *pathList) Set(path string) error {
	*p = append(*p, path)
	return nil
}

func main() {
	var asked question
	var verbosity int
	var timings bool
	flag.Var((*pathList)(&asked.Files), "f", "a `list` as kubectl get -o json prints it; may be repeated (none: requests on stdin)")
	policy := flag.String("policy", "", "the policy `file` (with -f)")
	flag.StringVar(&asked.Now, "now", "", "the `time` (RFC 3339) at which the dump is judged; empty is now")
	flag.IntVar(&asked.Repeat, "repeat", 1, "independent cycles to run")
	flag.StringVar(&asked.Order, "order", upstreamOrder, "order of nodes and pods: canonical, random or upstream")
	flag.BoolVar(&timings, "timings", false, "print the seconds too")
	flag.IntVar(&verbosity, "v", -1, "verbosity of the descheduler's own log on stderr; -1 is silence")
	flag.Parse()

	setUpLog(verbosity)
	descheduler.SetupPlugins()

	if len(asked.Files) == 0 {
		exitOn(serve(os.Stdin, os.Stdout))
		return
	}
	reply := asked.answer(*policy)
	if !timings {
		reply.Seconds = nil
	}
	out := bufio.NewWriter(os.Stdout)
	exitOn(json.NewEncoder(out).Encode(reply))
	exitOn(out.Flush())
	if reply.Error != "" {
		os.Exit(1)
	}
}

func setUpLog(verbosity int) {
	if verbosity < 0 {
		klog.SetLogger(logr.Discard())
		return
	}
	flags := flag.NewFlagSet("log", flag.ContinueOnError)
	klog.InitFlags(flags)
	exitOn(flags.Set("v", strconv.Itoa(verbosity)))
}

func exitOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "oracle:", err)
		os.Exit(2)
	}
}
