package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
)

const batchItems = 256

// readDumps decodes files as `kubectl get -o json` prints them: Lists, one or more a file.
// A dump is almost all live, so the collector rests meanwhile.
func readDumps(paths []string) (*cluster, error) {
	if len(paths) == 0 {
		return newCluster(), nil
	}
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	batches := make(chan []item, runtime.GOMAXPROCS(0))
	parts := make([]*cluster, runtime.GOMAXPROCS(0))
	errs := make([]error, len(parts))
	var decoders sync.WaitGroup
	for i := range parts {
		parts[i] = newCluster()
		decoders.Go(func() {
			for batch := range batches {
				if errs[i] == nil {
					errs[i] = parts[i].decodeAll(batch)
				}
			}
		})
	}
	err := splitFiles(paths, batches)
	close(batches)
	decoders.Wait()
	for _, decodeErr := range errs {
		if err == nil {
			err = decodeErr
		}
	}
	if err != nil {
		return nil, err
	}
	whole := newCluster()
	for _, part := range parts {
		whole.join(part)
	}
	return whole, nil
}

func splitFiles(paths []string, batches chan<- []item) error {
	for _, path := range paths {
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		err = splitLists(&scanner{in: file}, batches)
		file.Close()
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

func splitLists(in *scanner, batches chan<- []item) error {
	for {
		if _, err := in.peek(); err == io.EOF {
			return nil
		}
		if err := splitList(in, batches); err != nil {
			return err
		}
	}
}

// splitList sends the items of the List that comes next.
func splitList(in *scanner, batches chan<- []item) error {
	if ok, err := in.takes('{'); err != nil || !ok {
		return fmt.Errorf("want a List object as `kubectl get -o json` prints it: %w", orTruncated(err))
	}
	kind, found := "", false
	for {
		if closed, err := in.takes('}'); err != nil || closed {
			if err == nil && !found {
				err = fmt.Errorf("an object without items is no List")
			}
			return err
		}
		key, err := nextKey(in)
		if err != nil {
			return err
		}
		if key == "items" {
			found = true
			err = splitItems(in, kind, batches)
		} else {
			var value []byte
			if value, err = in.value(); key == "kind" && err == nil {
				kind = strings.TrimSuffix(strings.Trim(string(value), `"`), "List")
			}
		}
		if err != nil {
			return err
		}
		if _, err := in.takes(','); err != nil {
			return orTruncated(err)
		}
	}
}

func nextKey(in *scanner) (string, error) {
	text, err := in.value()
	if err != nil {
		return "", orTruncated(err)
	}
	key := strings.Trim(string(text), `"`)
	if ok, err := in.takes(':'); err != nil || !ok {
		return "", fmt.Errorf("no colon after the key %q", key)
	}
	return key, nil
}

func splitItems(in *scanner, kind string, batches chan<- []item) error {
	if ok, err := in.takes('['); err != nil || !ok {
		return fmt.Errorf("items is no array")
	}
	batch := make([]item, 0, batchItems)
	for {
		if closed, err := in.takes(']'); err != nil || closed {
			batches <- batch
			return orTruncated(err)
		}
		text, err := in.value()
		if err != nil {
			return orTruncated(err)
		}
		if batch = append(batch, item{kind, text}); len(batch) == batchItems {
			batches <- batch
			batch = make([]item, 0, batchItems)
		}
		if _, err := in.takes(','); err != nil {
			return orTruncated(err)
		}
	}
}

func orTruncated(err error) error {
	if err == io.EOF {
		return errTruncated
	}
	return err
}
