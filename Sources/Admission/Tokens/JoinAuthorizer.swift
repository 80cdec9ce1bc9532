package import Conference
package import WebServer

/// Decides who may join, and with which role.
package struct JoinAuthorizer: Sendable {
    /// nil in mode `open`.
    package var verifier: TokenVerifier?

    package init(verifier: TokenVerifier? = nil) {
        self.verifier = verifier
    }

    /// Checks the token of a join. In mode `open` every requested role is granted, since nothing can prove one; but an
    /// unproven role does not open a locked room.
    ///
    /// - Throws: `unauthorized` without a valid token, `forbidden` for another room or a higher role.
    package func admit(_ request: JoinRequest, asksRole: Bool, token: String?) throws(Refusal) -> AdmittedJoin {
        guard let verifier else {
            var request = request
            request.guestPass = token.flatMap { GuestPass(text: $0) }
            return AdmittedJoin(request, roleIsProven: false)
        }
        guard let token, !token.isEmpty else { throw Refusal(.unauthorized, "this server asks for a token") }
        let claims: TokenClaims
        do {
            claims = try verifier.verify(token)
        } catch {
            throw Refusal(.unauthorized, "the token is not valid, or not any more")
        }
        guard claims.covers(room: request.room) else { throw Refusal(.forbidden, "the token is for another room") }
        let highest = claims.role.flatMap { Role(rawValue: $0) } ?? .participant
        var request = request
        if let name = claims.name.flatMap({ Names.shown($0) }) { request.name = name }
        if asksRole {
            guard request.role.rank <= highest.rank else {
                throw Refusal(.forbidden, "the token allows no role above \(highest.rawValue)")
            }
        } else {
            request.role = highest
        }
        request.guestPass = claims.link.map { GuestPass(link: $0) }
        request.client.identity = claims.sub.flatMap { (1...256).contains($0.utf8.count) ? $0 : nil }
        if claims.recorded == false { request.unrecordedBy.insert(.token) }
        request.avatar = claims.avatar.flatMap { Avatars.isName($0) ? $0 : nil }
        return AdmittedJoin(request, roleIsProven: true)
    }

    /// The join of a client whose role nothing proves, and whose secret the room looks at.
    package static func admitUnproven(_ request: JoinRequest) -> AdmittedJoin {
        AdmittedJoin(request, roleIsProven: false)
    }

    /// The join of who has shown the administrator's token.
    package static func admitAdministrator(_ request: JoinRequest) -> AdmittedJoin {
        var request = request
        request.role = .moderator
        return AdmittedJoin(request, roleIsProven: true)
    }
}

extension Role {
    /// Each role includes the permissions of the lower ranks.
    package var rank: Int {
        switch self {
        case .viewer: 0
        case .participant: 1
        case .presenter: 2
        case .moderator: 3
        }
    }
}
