// Settings: who asks, and how that is known. What a row means: config/setting_types.hpp.

TOPIC("Server and log");
SETTING("MCP_AUTH", std::string, auth, "auto", choice({"auto", "token", "none"}),
        "where MCP_AUTH_TOKENS is empty: auto makes a token unless the address is loopback, token always, none never");
SETTING("MCP_AUTH_TOKENS", tokens, auth_tokens, "", live(secret(parser<setting_types::tokens>(bearer_tokens))),
        "bearer tokens as name=token,…; empty: MCP_AUTH decides");
SETTING("MCP_AUTH_PROFILES", tokens, auth_profiles, "", token_profiles,
        "profile of tools that the callers with a token are shown in place of TOOLS, as name=profile,…");
SETTING("AUTH_QUOTAS", words, auth_quotas, "", quota_list,
        "limits of principals as principal:name=number,…, with * for everybody (names: `container-mcp quota names`); "
        "`container-mcp quota set` goes before it");
SETTING("AUTH_ISSUERS", words, auth_issuers, "", issuer_list,
        "OAuth authorization servers whose tokens are taken: https addresses, on this machine also http");
SETTING(
    "AUTH_AUDIENCES", words, auth_audiences, "", word_list,
    "values of aud that tokens may have beside MCP_PUBLIC_URL and its endpoints; client_id:NAME takes tokens without "
    "aud of this client, as Amazon Cognito makes them");
SETTING("AUTH_TOKEN_TYPES", words, auth_token_types, "at+jwt", word_list,
        "values of typ that tokens may have; add JWT for issuers that do not follow RFC 9068");
SETTING("AUTH_PRINCIPAL_CLAIM", std::string, auth_principal_claim, "sub", plain_text(64),
        "the claim that tells callers of an issuer apart");
SETTING("AUTH_DEFAULT_SCOPES", std::string, auth_default_scopes, "", scope_list,
        "scopes of tokens that carry none of this server, between blanks");
SETTING("AUTH_CLOCK_SKEW", milliseconds, auth_clock_skew, "60", seconds(0ms, 600s),
        "by how many seconds an issuer's clock may differ");
SETTING(
    "AUTH_DPOP", std::string, auth_dpop, "accept", choice({"off", "accept", "require"}),
    "tokens that are bound to a key of the client (RFC 9449): off refuses them, require refuses the others of issuers");
SETTING("AUTH_INTROSPECTION_URL", std::string, auth_introspection_url, "", url(),
        "where tokens that are no JWT are asked for (RFC 7662); empty: they are refused");
SETTING("AUTH_INTROSPECTION_CLIENT", std::string, auth_introspection_client, "", plain_text(200),
        "this server's name there");
SETTING("AUTH_INTROSPECTION_SECRET", std::string, auth_introspection_secret, "", secret(plain_text(400)),
        "this server's secret there");
SETTING("AUTH_INTROSPECTION_TTL", milliseconds, auth_introspection_ttl, "60", seconds(0ms, 3600s),
        "how long its answer counts, seconds: a revoked token is good for so long");
SETTING("AUTH_UI_CLIENT", std::string, auth_ui_client, "", plain_text(400),
        "this server's client id at the issuers, so that people can log in to /ui there; empty: by key alone");
SETTING("AUTH_UI_SECRET", std::string, auth_ui_secret, "", secret(plain_text(400)),
        "its secret there; empty: it is a public client");
SETTING("AUTH_ADMINS", words, auth_admins, "", word_list,
        "principals that administer the server whatever the scopes of their tokens are");
