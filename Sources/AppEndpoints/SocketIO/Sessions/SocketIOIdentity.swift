import Admission
import Basics
import Cryptography

/// Who a client is.
struct SocketIOIdentity: Sendable, Equatable {
    /// The name under which others know the client. At a time it belongs to one account only (`SocketIONames`).
    var user: String
    /// The name under which the client knows itself.
    let own: String
    /// Whose sessions these are: the account's name in mode `open`; in mode `token` the token's `sub`, or its name with
    /// the rooms that it opens, or the token itself.
    let account: String
    /// The server's token (`auth.mode: token`) with which the client logged in; nil in mode `open`.
    let token: String?
    /// The rooms that the token opens: `*` is every one. nil in mode `open`.
    let rooms: String?

    /// An account of this server.
    init(user: String) {
        (self.user, own, account) = (user, user, user)
        (token, rooms) = (nil, nil)
    }

    /// The holder of a token.
    ///
    /// - Parameter name: which the holder gave, the token's own where it has one.
    init(name: String, token: String, claims: TokenClaims) {
        own = name
        account =
            if let sub = claims.sub {
                "sub \(sub)"
            } else if let name = claims.name {
                "name \(name) \(claims.room)"
            } else {
                "token \(Self.digest(token, letters: 32))"
            }
        self.token = token
        rooms = claims.room
        user = name
        // Nothing vouches for a name that the holder chose: it is told from every name that a token has.
        if claims.name == nil { user = marked }
    }

    /// The name with a mark of the account: it ends as no name of a token or an account may (`AccountBook.isName`).
    var marked: String { "\(own)_\(Self.digest(account, letters: 8))_" }

    private static func digest(_ text: String, letters: Int) -> String {
        Hexadecimal.encode(HashFunction.sha256.digest(Array(text.utf8)).prefix(letters / 2))
    }

    func covers(room: String) -> Bool { rooms == nil || rooms == "*" || rooms == room }
}
