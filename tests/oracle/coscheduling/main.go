// Coscheduling of kubernetes-sigs/scheduler-plugins: in a whole scheduler, or some of its answers in process.
//
// "coscheduling ask" reads a question in each line of standard input: nodes, PodGroups, and pods of which those with a node
// are bound. Standard output has an answer for each: for every pod without a node, why PreFilter refuses it, empty if it
// does not, and what Permit says when these pods reach it one after the other. With any other arguments it is the scheduler.
package main

import (
	"bufio"
	"encoding/json"
	"log"
	"os"

	"k8s.io/component-base/cli"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/cmd/kube-scheduler/app"
	_ "sigs.k8s.io/scheduler-plugins/apis/config/scheme"
	"sigs.k8s.io/scheduler-plugins/pkg/coscheduling"
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == "ask" {
		ask()
		return
	}
	os.Exit(cli.Run(app.NewSchedulerCommand(app.WithPlugin(coscheduling.Name, coscheduling.New))))
}

func ask() {
	klog.LogToStderr(false)
	klog.SetOutput(discard{})
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<24)
	out := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		var asked question
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			log.Fatal(err)
		}
		said, err := answered(asked)
		if err != nil {
			log.Fatal(err)
		}
		if err := out.Encode(said); err != nil {
			log.Fatal(err)
		}
	}
	if err := lines.Err(); err != nil {
		log.Fatal(err)
	}
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
