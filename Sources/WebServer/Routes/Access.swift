package import Basics

/// Who may call a route. The server knows one rule; what the others mean is decided by its `RequestGuard`.
package struct Access: Hashable, Sendable {
    package let name: String
    /// Whether every one of several servers decides alike, by what the request has in it alone.
    package let isDecidedAlike: Bool

    package init(_ name: String, isDecidedAlike: Bool = true) {
        self.name = name
        self.isDecidedAlike = isDecidedAlike
    }

    /// Pages, health, the description of the API.
    package static let everyone = Access("everyone")
}

/// Decides who may make a request.
package protocol RequestGuard: Sendable {
    /// - Throws: 401 or 403.
    func check(_ access: Access, _ asked: RouteRequest) async throws(APIError)
    /// Who asks, where a total is shared.
    func standing(of asked: RouteRequest) -> ShareStanding
    /// Whether the request has an administrator's token, to which limits of rates do not apply.
    func hasAdminToken(_ asked: RouteRequest) -> Bool
    /// Whether the request's URL has a proof in it that no page of another site knows, such as a signature.
    func hasProofInURL(_ asked: RouteRequest) -> Bool
}
