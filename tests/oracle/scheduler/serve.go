package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// request is one line of the streaming mode: a question whose objects may stand in the line itself.
type request struct {
	question
	Cluster []json.RawMessage `json:"cluster"`
}

// serve answers one request a line until the input ends.
func serve(in io.Reader, out io.Writer) error {
	lines := bufio.NewReaderSize(in, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 1 {
			if err := json.NewEncoder(out).Encode(answerLine(line)); err != nil {
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

func answerLine(line []byte) (reply *answer) {
	defer func() {
		if crash := recover(); crash != nil {
			reply = failure(fmt.Errorf("panic: %v", crash))
		}
	}()
	var asked request
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&asked); err != nil {
		return failure(fmt.Errorf("request: %w", err))
	}
	for _, object := range asked.Cluster {
		asked.objects = append(asked.objects, item{text: object})
	}
	return asked.answer()
}
