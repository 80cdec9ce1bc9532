import HTTPTypes

/// Who may use a route.
enum Access: Sendable, Equatable {
    /// Pages, health, the description of the API, and doors that look at tokens themselves.
    case everyone
    /// Reading: free in mode `open`.
    case reader
    /// Changing something.
    case admin
}

/// The rules of CONTRACT §3 for tokens and addresses.
struct AccessPolicy: Sendable {
    var adminToken: String
    var verifier: TokenVerifier?

    /// - Throws: 401 or 403.
    func check(_ access: Access, _ asked: RouteRequest) async throws(APIError) {
        switch access {
        case .everyone:
            return
        case .reader:
            guard let verifier else { return }
            if isAdmin(asked) { return }
            // A guest's token opens the guest's room, and no list of others.
            let room = asked.parameters["room"]
            if let room, let token = asked.bearer, let claims = try? await verifier.verify(token), claims.covers(room: room) { return }
            try refuse(asked)
        case .admin:
            if isAdmin(asked) { return }
            try refuse(asked)
        }
    }

    private func isAdmin(_ asked: RouteRequest) -> Bool {
        if adminToken.isEmpty { return asked.isLocal }
        guard let token = asked.bearer else { return false }
        return isEqual(token, adminToken)
    }

    private func refuse(_ asked: RouteRequest) throws(APIError) {
        if adminToken.isEmpty {
            throw APIError(
                .forbidden, "forbidden",
                "while auth.adminToken is not set, this is answered on the server itself only (from loopback, not through a proxy)")
        }
        throw APIError(
            .unauthorized, "unauthorized", "this needs Authorization: Bearer with the token of auth.adminToken",
            headers: [.wwwAuthenticate: "Bearer"])
    }
}

/// Takes as long for a near miss as for a far one.
func isEqual(_ first: String, _ second: String) -> Bool {
    let first = Array(first.utf8)
    let second = Array(second.utf8)
    var difference = first.count ^ second.count
    for index in first.indices {
        difference |= Int(first[index] ^ (second.isEmpty ? 0 : second[index % second.count]))
    }
    return difference == 0
}
