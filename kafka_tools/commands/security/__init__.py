"""Commands about who may do what: ACLs, SCRAM credentials, delegation tokens."""
