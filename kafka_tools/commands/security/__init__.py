"""Commands about access: ACLs, SCRAM credentials, delegation tokens."""
