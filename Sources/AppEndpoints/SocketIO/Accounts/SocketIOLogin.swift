import Admission
import Basics
import Conference
import FoundationEssentials
import WebServer

/// Says who a client of Socket.IO is: by an account, or in `auth.mode: token` by a token of the server.
final class SocketIOLogin: Sendable {
    private let joins: JoinService
    let accounts: Accounts

    init(_ joins: JoinService, accounts: Accounts) {
        self.joins = joins
        self.accounts = accounts
    }

    /// Whether clients log in with tokens of the server instead of accounts.
    var needsTokens: Bool { joins.needsTokens }

    private static let noRegistration = Accounts.Refusal(
        message: "nobody registers on this server: log in with your name, and with your token as the password")
    private static let wrongToken = Accounts.Refusal(message: "the token is not valid, or not any more")

    /// Adds an account. Returns the client's `auth_token`.
    func register(_ name: String, _ password: String, from address: IPAddress?) async throws(Accounts.Refusal) -> String
    {
        if needsTokens { throw SocketIOLogin.noRegistration }
        guard !SocketIORooms.isRoom(name) else { throw .taken }
        return try await accounts.register(name, password, from: address)
    }

    /// Logs a client in. Returns its `auth_token`.
    func logIn(_ name: String, _ password: String, from address: IPAddress?) async throws(Accounts.Refusal) -> String {
        guard needsTokens else { return try await accounts.logIn(name, password, from: address) }
        guard AccountBook.isName(name), !SocketIORooms.isRoom(name) else { throw .badName }
        let token = "\(name).\(password)"
        if await identity(ofToken: token) != nil { return token }
        guard let other = joins.claims(of: password)?.name else { throw SocketIOLogin.wrongToken }
        throw Accounts.Refusal(message: "this token is for the name \(other)")
    }

    /// Who has the `auth_token`; nil: nobody.
    ///
    /// In mode `token` the `auth_token` is the name, a dot and the token of the server, so that the token's expiry holds and nothing
    /// has to be kept.
    func identity(ofToken token: String) async -> SocketIOIdentity? {
        guard needsTokens else {
            guard let name = accounts.book.owner(ofToken: token) else { return nil }
            accounts.seen(name)
            return SocketIOIdentity(user: name)
        }
        guard let dot = token.firstIndex(of: ".") else { return nil }
        let (name, jwt) = (String(token[..<dot]), String(token[token.index(after: dot)...]))
        guard AccountBook.isName(name), !SocketIORooms.isRoom(name), let claims = joins.claims(of: jwt),
            claims.name == nil || claims.name == name
        else { return nil }
        return SocketIOIdentity(name: name, token: jwt, claims: claims)
    }
}

/// Rooms of the conference in the form of users, the only form that FLSocketIM's apps have.
enum SocketIORooms {
    private static let prefix = "room_"

    static func user(_ room: String) -> String { prefix + room }
    /// Whether a room belongs to a call between two people, whose ids are UUIDs: it is no room for others.
    static func isCall(_ room: String) -> Bool { UUID(uuidString: room) != nil }
    static func isRoom(_ user: String) -> Bool { user.lowercased().hasPrefix(prefix) }
    /// The room that a user stands for; nil: a person.
    static func room(_ user: String) -> String? {
        guard user.hasPrefix(prefix) else { return nil }
        let room = String(user.dropFirst(prefix.count))
        return Names.isRoom(room) ? room : nil
    }
}
