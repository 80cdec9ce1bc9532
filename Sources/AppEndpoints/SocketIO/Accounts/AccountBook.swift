import Cryptography
import FoundationEssentials

/// The accounts, and the tokens of their clients. No file and no clock inside.
struct AccountBook: Codable, Equatable, Sendable {
    struct Account: Codable, Equatable, Sendable {
        var id: String
        var name: String
        var password: PasswordHash
        var createdAt: Date
        /// The newest last.
        var tokens: [Token] = []
        /// Nobody has come back to the account since its first hour: it ends after a day. nil: somebody has, as in the
        /// files of earlier versions.
        var isNew: Bool?
    }

    /// One change of the accounts, a line of the journal. A change that is there already changes nothing, so that a
    /// journal may be read again over a file that has it.
    enum Change: Codable, Equatable, Sendable {
        case registered(Account)
        case loggedIn(name: String, Token)
        case returned(name: String)
        case ended(id: String)
    }

    /// An account to which nobody comes back for so long ends: names that somebody took by the thousand are free again.
    static let newLife: TimeInterval = 86_400
    /// What happens within this time of the registration is part of it.
    static let registrationTime: TimeInterval = 3600

    /// A client's token, of which the file has only a digest: it has 128 random bits, so no salt is needed.
    struct Token: Codable, Equatable, Sendable {
        var digest: Data
        var createdAt: Date

        static func digest(_ token: String) -> Data { Data(HashFunction.sha256.digest(Array(token.utf8))) }
    }

    static let maxAccounts = 10_000
    /// Clients of one account that stay logged in; the one that logged in first is logged out.
    static let maxTokens = 8

    private(set) var version = 1
    private(set) var accounts: [Account] = []
    /// ConcurrencyLimit of accounts by name in lower case, so that no two names look alike.
    private var places: [String: Int] = [:]
    private var owners: [Data: Int] = [:]

    init() {}

    /// FLSocketIM's rule for names: 4 to 15 letters, digits and `_`, no `_` at the ends.
    static func isName(_ text: String) -> Bool {
        (4...15).contains(text.utf8.count) && text.first != "_" && text.last != "_"
            && text.utf8.allSatisfy { byte in
                (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
                    || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || byte == UInt8(ascii: "_")
            }
    }

    func account(named name: String) -> Account? {
        places[name.lowercased()].map { accounts[$0] }.flatMap { $0.name == name ? $0 : nil }
    }

    /// Whether an account has the name, or one that differs only in upper and lower case.
    func isTaken(_ name: String) -> Bool { places[name.lowercased()] != nil }

    /// The name of the account with this token.
    func owner(ofToken token: String) -> String? { owners[Token.digest(token)].map { accounts[$0].name } }

    // MARK: Changes

    /// A new account; nil if the name is taken or there are too many accounts.
    func registration(_ name: String, _ password: PasswordHash, id: String, at date: Date) -> Change? {
        guard !isTaken(name), accounts.count < AccountBook.maxAccounts else { return nil }
        return .registered(Account(id: id, name: name, password: password, createdAt: date, isNew: true))
    }

    /// Whether somebody who comes to the account now has come back to it.
    func isReturn(to name: String, at date: Date) -> Bool {
        guard let account = account(named: name), account.isNew == true else { return false }
        return date.timeIntervalSince(account.createdAt) >= AccountBook.registrationTime
    }

    /// The ends of accounts to which nobody came back.
    ///
    /// - Parameter isOnline: whether an account has a session.
    func ends(at date: Date, isOnline: (String) -> Bool) -> [Change] {
        accounts.filter { account in
            account.isNew == true && date.timeIntervalSince(account.createdAt) >= AccountBook.newLife
                && !isOnline(account.name)
        }.map { .ended(id: $0.id) }
    }

    mutating func apply(_ changes: [Change]) {
        var ended: Set<String> = []
        for change in changes {
            switch change {
            case .registered(let account):
                // The name may be that of an account which has ended.
                remove(ended)
                ended = []
                guard !isTaken(account.name) else { continue }
                places[account.name.lowercased()] = accounts.count
                accounts.append(account)
            case .loggedIn(let name, let token): add(token, to: name)
            case .returned(let name): if let place = places[name.lowercased()] { accounts[place].isNew = nil }
            case .ended(let id): ended.insert(id)
            }
        }
        remove(ended)
    }

    private mutating func add(_ token: Token, to name: String) {
        guard let place = places[name.lowercased()], owners[token.digest] == nil else { return }
        accounts[place].tokens.append(token)
        owners[token.digest] = place
        while accounts[place].tokens.count > AccountBook.maxTokens {
            owners[accounts[place].tokens.removeFirst().digest] = nil
        }
    }

    private mutating func remove(_ ids: Set<String>) {
        if ids.isEmpty { return }
        accounts.removeAll { ids.contains($0.id) }
        (places, owners) = ([:], [:])
        for (place, account) in accounts.enumerated() {
            places[account.name.lowercased()] = place
            for token in account.tokens { owners[token.digest] = place }
        }
    }

    // MARK: The file's form

    private enum CodingKeys: String, CodingKey { case version, accounts }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        version = try container.decode(Int.self, forKey: .version)
        accounts = try container.decode([Account].self, forKey: .accounts)
        guard version == 1, accounts.count <= AccountBook.maxAccounts else {
            throw DecodingError.dataCorruptedError(
                forKey: .version, in: container, debugDescription: "of another version, or with too many accounts")
        }
        for (place, account) in accounts.enumerated() {
            guard AccountBook.isName(account.name), account.password.cost.isSane,
                places.updateValue(place, forKey: account.name.lowercased()) == nil
            else {
                throw DecodingError.dataCorruptedError(
                    forKey: .accounts, in: container, debugDescription: "account \(place) is not valid")
            }
            for token in account.tokens.suffix(AccountBook.maxTokens) { owners[token.digest] = place }
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(version, forKey: .version)
        try container.encode(accounts, forKey: .accounts)
    }
}
