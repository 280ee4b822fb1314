package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"turnlog/identity"
)

const tokenHelp = `Prints a token that a node with auth.mode jwt and the same auth.secret believes, for
trying things:

  export TURNLOG_AUTH_SECRET=$(openssl rand -base64 48)
  turnlog serve --auth.mode jwt
  turnlog chat --token "$(turnlog token --user alice)"

Anybody who has the secret can make tokens for anybody. Where users come from an
identity provider, use its keys (auth.jwks_url) and no secret.`

// newTokenCommand mints a token with auth.secret.
func newTokenCommand() *cobra.Command {
	var user string
	var scopes []string
	var ttl time.Duration
	cmd := &cobra.Command{
		Use:     "token --user NAME",
		Short:   "Make a token with auth.secret, for trying authentication",
		Long:    tokenHelp,
		Example: "  turnlog token --user alice --ttl 1h\n  turnlog token --user ops --scope " + identity.ScopeAdmin,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, err := loadCommand(cmd.Flags())
			if err != nil {
				return err
			}
			token, err := mint(config.Auth, user, scopes, ttl, time.Now())
			if err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), token)
			return nil
		},
	}
	addFlagsOf(cmd.Flags(), slices.DeleteFunc(slices.Clone(settings), func(s setting) bool {
		return s.key != "auth.secret" && s.key != "auth.issuer" && s.key != "auth.audience"
	}))
	cmd.Flags().StringVar(&user, "user", "", "whom the token is for")
	cmd.Flags().StringSliceVar(&scopes, "scope", nil, "scope that the token gives; may be given several times")
	cmd.Flags().DurationVar(&ttl, "ttl", time.Hour, "how long the token is valid")
	return cmd
}

func mint(a AuthConfig, user string, scopes []string, ttl time.Duration, now time.Time) (string, error) {
	switch {
	case user == "":
		return "", errors.New("--user: whom the token is for is missing")
	case a.Secret == "":
		return "", errors.New("auth.secret: there is none to sign with; set TURNLOG_AUTH_SECRET, or name the node's file with --config")
	case ttl < time.Second:
		return "", fmt.Errorf("--ttl: %s is too short; use at least 1s", ttl)
	}
	for _, s := range scopes {
		if s == "" || strings.ContainsAny(s, " \t\n") {
			return "", fmt.Errorf("--scope: %q is not one scope; give --scope several times for several", s)
		}
	}
	token, err := identity.Mint([]byte(a.Secret), identity.Grant{
		User: user, Scopes: scopes, Issuer: a.Issuer, Audience: a.Audience, Issued: now, Expires: now.Add(ttl),
	})
	switch {
	case errors.Is(err, identity.ErrBadUser):
		return "", fmt.Errorf("--user: %w", err)
	case err != nil:
		return "", fmt.Errorf("auth.secret: %w", err)
	}
	return token, nil
}
