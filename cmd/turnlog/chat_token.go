package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// tokenSource is where a client's token comes from for each connection: the flag, the
// file, or the environment; nil when there is none.
func tokenSource(flag, file, env string) (func(context.Context) (string, error), error) {
	switch {
	case flag != "" && file != "":
		return nil, errors.New("--token and --token-file: give one of them")
	case file != "":
		read := func(context.Context) (string, error) { return readToken(file) }
		_, err := readToken(file) // a wrong name is told now and not at the tenth attempt
		return read, err
	case flag == "":
		flag = env
	}
	if flag == "" {
		return nil, nil
	}
	return func(context.Context) (string, error) { return flag, nil }, nil
}

// longestTokenFile bounds what is read of a file that may not be one.
const longestTokenFile = 16 << 10

func readToken(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("--token-file: %w", err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, longestTokenFile+1))
	if err != nil {
		return "", fmt.Errorf("--token-file: %w", err)
	}
	token := strings.TrimSpace(string(text))
	if token == "" || len(text) > longestTokenFile || strings.ContainsAny(token, " \t\r\n") {
		return "", fmt.Errorf("--token-file: %s does not hold one token", path)
	}
	return token, nil
}
