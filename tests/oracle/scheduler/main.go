// Command scheduler asks kube-scheduler v1.36 where it would put the pending pods of a dumped cluster, and why.
//
// It links the real scheduler (cache, snapshot, queue, profiles, plugins, preemption) as a module and replaces only the
// API server: informers hand the objects of a dump straight to the scheduler's own event handlers, and binding ends where
// the scheduler assumes a pod on its node. Victims of preemption stay where they are.
//
// Every node is visited unless a question says where to start, by one worker, and ties are broken by name, so that an
// answer repeats.
//
//	scheduler < requests                                        one JSON request a line, one JSON answer a line
//	scheduler -file DUMP [-config FILE] [-pod NS/NAME]          one question about files
//	scheduler -bench N -file DUMP [-config FILE] [-all-nodes]   placements a second
//	scheduler -moves FILE -file DUMP [-config FILE]             where the replacements of evicted pods land
//
// Build: CGO_ENABLED=0 go build -trimpath -o build/oracle/scheduler . (build.py does it).
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

type pathList []string

func (p *pathList) String() string { return strings.Join(*p, ",") }

func (p *pathList) Set(path string) error {
	*p = append(*p, path)
	return nil
}

func main() {
	asked := question{Apply: true}
	trial := benchmark{}
	carried := carrying{}
	flag.Var((*pathList)(&asked.Files), "file", "a `list` as kubectl get -o json prints it; may be repeated (none: requests on stdin)")
	config := flag.String("config", "", "the KubeSchedulerConfiguration `file`")
	flag.StringVar(&asked.Pod, "pod", "", "the pod `namespace/name` to ask about; empty is every pending pod")
	flag.IntVar(&trial.pods, "bench", 0, "measure the placement of `N` copies of the pending pods instead")
	flag.BoolVar(&trial.allNodes, "all-nodes", false, "with -bench: visit every node instead of a sample")
	flag.IntVar(&trial.parallelism, "parallelism", 16, "with -bench: workers")
	flag.StringVar(&carried.file, "moves", "", "carry out the moves of a JSON `file` instead")
	verbosity := flag.Int("v", -1, "verbosity of the scheduler's own log on stderr; -1 is silence")
	flag.Parse()
	setUpLog(*verbosity)

	if *config != "" {
		text, err := os.ReadFile(*config)
		exitOn(err)
		asked.Config = string(text)
	}
	switch {
	case trial.pods > 0:
		exitOn(trial.run(&asked, os.Stdout))
	case carried.file != "":
		exitOn(carried.run(&asked, os.Stdout))
	case len(asked.Files) > 0:
		exitOn(chooseGates())
		exitOn(json.NewEncoder(os.Stdout).Encode(asked.answer()))
	default:
		exitOn(chooseGates())
		exitOn(serve(os.Stdin, os.Stdout))
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
