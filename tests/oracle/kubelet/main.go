// Whether a kubelet takes pods, by its own topology, CPU and memory manager.
//
// Standard input has a question in each line: a machine, and pods that come to it one after the other. Standard output has an
// answer for each: for every pod, what the NUMA nodes had before it came, and the error with which it was refused, if it was.
// Init containers that are no sidecars have ended when the next pod comes.
package main

import (
	"bufio"
	"encoding/json"
	"log"
	"os"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
)

type question struct {
	Machine machine `json:"machine"`
	Policy  string  `json:"policy"`
	Scope   string  `json:"scope"`
	// Memory says whether the memory manager is static, too.
	Memory bool         `json:"memory"`
	Pods   []corev1.Pod `json:"pods"`
}

type answer struct {
	Pods  []admitted `json:"pods,omitempty"`
	Error string     `json:"error,omitempty"`
}

// admitted is what became of one pod.
type admitted struct {
	Before []numaNode `json:"before"`
	// The reason and message, empty if it was taken.
	Refused string `json:"refused"`
}

// numaNode is what exporters say of one.
type numaNode map[corev1.ResourceName]amounts

type amounts struct {
	Capacity    int64 `json:"capacity"`
	Allocatable int64 `json:"allocatable"`
	Available   int64 `json:"available"`
}

func main() {
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
		if err := out.Encode(answered(asked)); err != nil {
			log.Fatal(err)
		}
	}
	if err := lines.Err(); err != nil {
		log.Fatal(err)
	}
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

func answered(asked question) answer {
	kubelet, err := newKubelet(asked)
	if err != nil {
		return answer{Error: err.Error()}
	}
	result := answer{Pods: []admitted{}}
	for i := range asked.Pods {
		before := kubelet.numaNodes()
		refused := kubelet.admit(&asked.Pods[i])
		result.Pods = append(result.Pods, admitted{before, refused})
	}
	return result
}
