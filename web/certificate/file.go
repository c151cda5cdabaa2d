package certificate

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
)

// accountFile contains the key of the account at the ACME directory. No domain's file can have this name, because a
// domain contains a dot and no capital letters.
const accountFile = "ACCOUNT.pem"

// usable parses the leaf of a certificate and checks that the certificate is for the domain.
func usable(c *tls.Certificate, domain string) (*tls.Certificate, error) {
	leaf, err := x509.ParseCertificate(c.Certificate[0])
	if err != nil {
		return nil, err
	}
	c.Leaf = leaf
	return c, leaf.VerifyHostname(domain)
}

// read reads the stored certificate of a domain, expired or not.
func (k *Keeper) read(domain string) (*tls.Certificate, error) {
	text, err := os.ReadFile(filepath.Join(k.dir, domain+".pem"))
	if err != nil {
		return nil, err
	}
	kept, err := tls.X509KeyPair(text, text)
	if err != nil {
		return nil, err
	}
	return usable(&kept, domain)
}

// write stores a key and its chain.
func (k *Keeper) write(domain string, key crypto.Signer, chain [][]byte) error {
	text, err := encodeKey(key)
	if err != nil {
		return err
	}
	for _, c := range chain {
		text = append(text, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c})...)
	}
	return k.replace(domain+".pem", text)
}

func encodeKey(key crypto.Signer) ([]byte, error) {
	b, err := x509.MarshalPKCS8PrivateKey(key)
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: b}), err
}

// accountKey returns the account key, and creates it if there is none.
func (k *Keeper) accountKey() (crypto.Signer, error) {
	text, err := os.ReadFile(filepath.Join(k.dir, accountFile))
	if errors.Is(err, os.ErrNotExist) {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			return nil, err
		}
		if text, err = encodeKey(key); err != nil {
			return nil, err
		}
		return key, k.replace(accountFile, text)
	}
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errAccountKey
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	signer, ok := key.(*ecdsa.PrivateKey)
	if err != nil || !ok {
		return nil, errAccountKey
	}
	return signer, nil
}

var errAccountKey = errors.New("the file " + accountFile +
	" next to the certificates contains no key. Delete it: the server creates a new account")

// replace writes a file (0600) completely or not at all.
func (k *Keeper) replace(name string, text []byte) (err error) {
	f, err := os.CreateTemp(k.dir, ".new-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), filepath.Join(k.dir, name))
}
