// Command turnlog keeps an agent's chat turn running when its WebSocket goes
// away, and lets any client, on any node, pick it up where it stopped.
//
// This package is the command line and nothing else: it reads the
// configuration once (flags, then environment, then file) into a typed Config,
// checks it, makes each package's Options from it, and runs the parts in one
// errgroup. Only here are viper, cobra and the embedded Redis known.
//
// settings.go holds the one table of settings; load.go applies precedence;
// validate.go refuses impossible combinations; serve.go and node.go wire a node.
package main
