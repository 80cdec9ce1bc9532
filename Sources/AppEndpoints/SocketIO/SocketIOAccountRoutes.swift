import Admission
import Basics
import Conference
import FoundationEssentials
import Hummingbird
import Threads
import WebServer

/// The REST of FLSocketIM's apps: `{"code":1,"message":…,"data":…}`, and `code` -1 for failures, with status 200.
struct SocketIOAccountRoutes: Sendable {
    let login: SocketIOLogin
    let sessions: SocketIOSessions
    let conference: ConferenceServices
    /// Pictures of one address, a second and at once.
    private let uploads = BucketTable<IPAddress>(rate: 0.2, burst: 20, at: MonotonicClock.now())

    private let unsent: SocketIOUploads

    init(
        login: SocketIOLogin, sessions: SocketIOSessions, conference: ConferenceServices,
        uploads: SocketIOUploads
    ) {
        (self.login, self.sessions, self.conference, unsent) = (login, sessions, conference, uploads)
    }

    /// What a login leaves with the client, by which its further requests prove it: the apps send no token with them,
    /// and both keep cookies. The Android app keeps those only that say for how long. `SameSite` keeps it out of what
    /// pages of other sites ask for.
    private static let cookie = "flsocketim"
    private static let cookieLife = 30 * 86_400

    /// A name and a password, or a token of the server.
    private static let maxFormBytes = 16_384

    func add(to table: inout RouteTable) {
        let credentials = Schema.object(
            ["userName": Schema.string, "password": Schema.string], required: ["userName", "password"])
        let data = Schema.object(["auth_token": Schema.string, "auth_date": Schema.integer])
        // The apps read `data` only where `code` is 1.
        let answer = Schema.object(
            [
                "code": ["type": "integer", "enum": [1, -1]], "message": Schema.string,
                "data": ["anyOf": [data, ["const": ""]]],
            ], required: ["code", "message", "data"])
        table.add(
            Route(
                .post, "/mobileLogin", .endpoint,
                RouteDescription(
                    tag: "doors", summary: "Logs an FLSocketIM user in",
                    body: ("application/x-www-form-urlencoded", credentials),
                    answers: [.json("The token for the handshake; code -1: refused.", answer)], failures: [413, 429]),
                placement: .socketIOFamily
            ) { asked in
                try await logIn(asked, "logged in") { name, password, address throws(Accounts.Refusal) in
                    try await login.logIn(name, password, from: address)
                }
            })
        table.add(
            Route(
                .post, "/register", .endpoint,
                RouteDescription(
                    tag: "doors", summary: "Adds an account for FLSocketIM, unless auth.mode is token",
                    body: ("application/x-www-form-urlencoded", credentials),
                    answers: [.json("The token for the handshake; code -1: refused.", answer)], failures: [413, 429]),
                placement: .socketIOFamily
            ) { asked in
                try await logIn(asked, "registered") { name, password, address throws(Accounts.Refusal) in
                    try await login.register(name, password, from: address)
                }
            })
        let user = Schema.object([
            "_id": Schema.string, "name": Schema.string, "nickname": Schema.string, "headImageUrl": Schema.string,
        ])
        let users = Schema.object(["allUser": Schema.list(of: user), "onLineUsers": Schema.list(of: Schema.string)])
        table.add(
            Route(
                .get, "/allUsers", .endpoint,
                RouteDescription(
                    tag: "doors", summary: "The users of FLSocketIM, and the rooms as users",
                    parameters: [.query("auth_token", "In mode token: for whom, where the login's cookie is missing.")],
                    answers: [.json("Everyone, and who is online.", Schema.object(["data": users]))],
                    failures: [429]),
                placement: .socketIOFamily
            ) { asked in await allUsers(asked) })
    }

    /// Adds `POST /uploadFiles`, for the pictures of users.
    func addUploads(to table: inout RouteTable) {
        let answer = Schema.object(
            ["code": ["type": "integer", "enum": [1, -1]], "message": Schema.string, "data": Schema.string],
            required: ["code", "message", "data"])
        table.add(
            Route(
                .post, "/uploadFiles", .endpoint,
                RouteDescription(
                    tag: "doors",
                    summary:
                        "Stores a picture of a client with a session for a minute, or longer if its chat names it: "
                        + "the field `image` of a form, or the body of type `image/…` itself",
                    parameters: [.query("auth_token", "Who uploads, where the login's cookie is missing.")],
                    body: ("multipart/form-data", Schema.object(["image": Schema.string], required: ["image"])),
                    answers: [.json("The picture's path; code -1: refused.", answer)], failures: [400, 413, 415, 429]),
                bodyLimit: SocketIOAccountRoutes.maxUploadBytes, placement: .socketIOFamily
            ) { asked in try await upload(asked) })
    }

    /// A picture of the largest size, and a few short fields.
    private static let maxUploadBytes = ChatPicture.maxBytes + 65_536

    private func upload(_ asked: RouteRequest) async throws -> Response {
        // Before the body: who has no session gets nothing read.
        guard let identity = await identity(asked), sessions.isOnline(identity.account) else {
            return failure("log in first")
        }
        let address = asked.source.client?.clientPrefix ?? .v4(0)
        guard uploads.take(address, at: MonotonicClock.now()) == .zero else {
            return failure("too many pictures at once: try again in a minute")
        }
        let picture = try await UploadedFile.read(
            try await asked.body(upTo: SocketIOAccountRoutes.maxUploadBytes),
            contentType: asked.headers[.contentType], field: "image")
        guard let picture else { return failure("the form has no field image") }
        do throws(ConferenceError) {
            let stored = try await conference.pictures.store(picture, from: asked.source.client, isSent: false)
            unsent.add(stored.id, of: identity.account)
            return success("stored", .string(ChatEnvelope.path(stored)))
        } catch {
            return failure(error.message)
        }
    }

    private func logIn(
        _ asked: RouteRequest, _ done: String,
        _ body: (String, String, IPAddress?) async throws(Accounts.Refusal) -> String
    ) async throws -> Response {
        let form = FormBody(try await asked.body(upTo: SocketIOAccountRoutes.maxFormBytes))
        do throws(Accounts.Refusal) {
            let token = try await body(form["userName"] ?? "", form["password"] ?? "", asked.source.client)
            let date = Int(Date().timeIntervalSince1970 * 1000)
            var answer = success(done, ["auth_token": .string(token), "auth_date": .integer(date)])
            let isSecure = asked.publicAddress.http("").hasPrefix("https:")
            answer.headers[.setCookie] =
                "\(Self.cookie)=\(token); Path=/; Max-Age=\(Self.cookieLife); HttpOnly; SameSite=Strict"
                + (isSecure ? "; Secure" : "")
            return answer
        } catch {
            return failure(error.message)
        }
    }

    private func success(_ message: String, _ data: JSONValue) -> Response {
        .json(["code": 1, "message": .string(message), "data": data])
    }

    private func failure(_ message: String) -> Response {
        .json(["code": -1, "message": .string(message), "data": ""])
    }

    // MARK: Users

    private func allUsers(_ asked: RouteRequest) async -> Response {
        let readers = await readers(asked)
        let people = readers.isEmpty ? [] : people()
        let rooms = conference.rooms.list().map(\.id).filter { room in
            !SocketIORooms.isCall(room) && readers.contains { $0.covers(room: room) }
        }
        let all = people + rooms.map { (id: SocketIORooms.user($0), name: SocketIORooms.user($0)) }
        let onLine = readers.isEmpty ? [] : sessions.users.sorted() + rooms.map { SocketIORooms.user($0) }
        let users: [JSONValue] = all.map { user in
            ["_id": .string(user.id), "name": .string(user.name), "nickname": "", "headImageUrl": ""]
        }
        return success("users", ["allUser": .array(users), "onLineUsers": .array(onLine.map { .string($0) })])
    }

    /// For whom the list is. In mode `open` rooms and names are everybody's.
    private func readers(_ asked: RouteRequest) async -> [SocketIOIdentity] {
        login.needsTokens ? [await identity(asked)].compactMap { $0 } : [SocketIOIdentity(user: "")]
    }

    /// Who asks: by the token in the query, or in the login's cookie. Everybody behind one address may ask; so an
    /// address proves nobody.
    private func identity(_ asked: RouteRequest) async -> SocketIOIdentity? {
        if let token = asked.query("auth_token") { return await login.identity(ofToken: token) }
        for field in asked.headers[values: .cookie] {
            for pair in field.split(separator: ";") {
                let parts = pair.split(separator: "=", maxSplits: 1).map { $0.drop { $0 == " " } }
                if parts.count == 2, parts[0] == Self.cookie,
                    let identity = await login.identity(ofToken: String(parts[1]))
                {
                    return identity
                }
            }
        }
        return nil
    }

    private func people() -> [(id: String, name: String)] {
        guard login.needsTokens else { return login.accounts.book.accounts.map { ($0.id, $0.name) } }
        return sessions.users.sorted().map { ($0, $0) }
    }
}
