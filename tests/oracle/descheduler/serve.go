package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// request is one line of the streaming mode: a question whose objects and policy may stand in the line itself.
type request struct {
	question
	Cluster []json.RawMessage `json:"cluster"`
	Policy  string            `json:"policy"`
}

// serve answers one request a line until the input ends.
func serve(in io.Reader, out io.Writer) error {
	folder, err := os.MkdirTemp("", "oracle")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)

	lines := bufio.NewReaderSize(in, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 1 {
			if err := json.NewEncoder(out).Encode(answerLine(line, filepath.Join(folder, "policy.yaml"))); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// answerLine answers one request. The loader of the descheduler wants a file, so the policy goes through policyPath,
// and its path is taken out of the error texts again.
func answerLine(line []byte, policyPath string) (reply *answer) {
	defer func() {
		if crash := recover(); crash != nil {
			reply = failure(fmt.Errorf("panic: %v", crash))
		}
		reply.Error = strings.ReplaceAll(reply.Error, policyPath, filepath.Base(policyPath))
	}()
	var asked request
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&asked); err != nil {
		return failure(fmt.Errorf("request: %w", err))
	}
	if err := os.WriteFile(policyPath, []byte(asked.Policy), 0o600); err != nil {
		return failure(err)
	}
	for _, object := range asked.Cluster {
		asked.objects = append(asked.objects, item{text: object})
	}
	return asked.answer(policyPath)
}
