import Basics
import Foundation
import Logging
import Testing

@testable import Admission
@testable import AppEndpoints
@testable import WebServer

@Suite struct AccountsTests {
    /// As little work as scrypt can have.
    private static let cheap = PasswordHash.Cost(rounds: 2, blockSize: 1, parallelism: 1)

    private let directory = NSTemporaryDirectory() + "accounts-\(UUID().uuidString)"
    private var file: AccountFile { AccountFile(directory: directory) }

    private func accounts() -> Accounts {
        Accounts(file, cost: Self.cheap, logger: Logger(label: "test"), now: { .zero })
    }

    /// Why a login is refused; nil: it is not.
    private func login(
        _ accounts: Accounts, _ name: String, _ password: String, from address: IPAddress? = nil
    ) async -> Accounts.Refusal? {
        do throws(Accounts.Refusal) { _ = try await accounts.logIn(name, password, from: address) } catch {
            return error
        }
        return nil
    }

    private func registration(_ accounts: Accounts, _ name: String) async -> Accounts.Refusal? {
        do throws(Accounts.Refusal) { _ = try await accounts.register(name, "secret", from: nil) } catch {
            return error
        }
        return nil
    }

    @Test func `an account logs in with its password only`() async throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let accounts = accounts()
        let token = try await accounts.register("alice", "secret", from: nil)
        #expect(accounts.book.owner(ofToken: token) == "alice")
        let second = try await accounts.logIn("alice", "secret", from: nil)
        #expect(second != token && accounts.book.owner(ofToken: second) == "alice")
        #expect(await login(accounts, "alice", "Secret") == .wrong)
        #expect(await login(accounts, "nobody", "secret") == .wrong)
        #expect(await registration(accounts, "Alice") == .taken)
        #expect(accounts.book.owner(ofToken: "guess") == nil)
    }

    @Test func `accounts and tokens outlive the server, in a file for its user only`() async throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let token = try await accounts().register("alice", "secret", from: nil)
        let text = try String(contentsOfFile: file.journal, encoding: .utf8)
        #expect(!text.contains(token) && !text.contains("secret") && text.contains("alice"))
        let mode = try FileManager.default.attributesOfItem(atPath: file.journal)[.posixPermissions] as? Int
        #expect(mode == 0o600 && !FileManager.default.fileExists(atPath: file.path))
        #expect(accounts().book.owner(ofToken: token) == "alice")
    }

    @Test func `a damaged file is left as it is, and nobody logs in`() async throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        try Data("{\"version\":1".utf8).write(to: URL(fileURLWithPath: file.path))
        let accounts = accounts()
        #expect(await registration(accounts, "alice") == .failed)
        #expect(try String(contentsOfFile: file.path, encoding: .utf8) == "{\"version\":1")
        #expect(throws: AccountFile.Fault.self) { try file.read() }
    }

    @Test func `without a disk nothing is promised`() async throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        // A file where the directory should be.
        try Data().write(to: URL(fileURLWithPath: directory))
        let accounts = accounts()
        #expect(await registration(accounts, "alice") == .failed)
        #expect(accounts.book.accounts.isEmpty)
    }

    @Test func `one address has ten tries at once`() async throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let accounts = accounts()
        var refusals: [Accounts.Refusal?] = []
        for _ in 0..<11 {
            refusals.append(await login(accounts, "alice", "x", from: .v4(1)))
        }
        #expect(refusals[..<10].allSatisfy { $0 == .wrong } && refusals[10] == .busy)
        #expect(await login(accounts, "alice", "x", from: .v4(2)) == .wrong)
    }

    @Test(arguments: ["", "abc", "_abc", "abc_", "abcdefghijklmnop", "ab cd", "alicé", "a/../b", "room😀"])
    func `names have the app's form`(name: String) {
        #expect(!AccountBook.isName(name))
    }

    @Test(arguments: ["abcd", "a_b1", "ABCDEFGHIJKLMNO"]) func `good names`(name: String) {
        #expect(AccountBook.isName(name))
    }

    /// Made with Python's `cryptography` (Scrypt), as every version of the server has hashed it.
    @Test func `a password that another version hashed is known`() throws {
        let stored = """
            {"cost":{"rounds":16384,"blockSize":8,"parallelism":5},"salt":"AAECAwQFBgcICQoLDA0ODw==",
            "key":"f+y6ILgA+FGS+RKhydoMmiML5oaV6i7Cmp4ejvVhSzU="}
            """
        let hash = try JSONDecoder().decode(PasswordHash.self, from: Data(stored.utf8))
        #expect(hash.matches("secret") && !hash.matches("Secret") && !hash.matches(""))
    }

    private func day(_ days: Double) -> Date { Date(timeIntervalSince1970: 1_700_000_000 + days * 86_400) }

    private func add(_ name: String, to book: inout AccountBook, at date: Date) throws -> Bool {
        let hash = try PasswordHash("x", cost: Self.cheap)
        guard let change = book.registration(name, hash, id: "id of \(name)", at: date) else { return false }
        book.apply([change])
        return true
    }

    private func token(_ text: String) -> AccountBook.Token {
        AccountBook.Token(digest: AccountBook.Token.digest(text), createdAt: day(0))
    }

    @Test func `accounts and tokens are limited`() throws {
        var book = AccountBook()
        let hash = try PasswordHash("x", cost: Self.cheap)
        book.apply(
            (0..<AccountBook.maxAccounts).compactMap { number in
                book.registration("user\(number)", hash, id: "\(number)", at: day(0))
            })
        #expect(book.accounts.count == AccountBook.maxAccounts)
        let another = try add("another", to: &book, at: day(0))
        #expect(!another)
        book.apply((0..<20).map { .loggedIn(name: "user0", token("\($0)")) })
        #expect(book.accounts[0].tokens.count == AccountBook.maxTokens)
        #expect(book.owner(ofToken: "11") == nil && book.owner(ofToken: "12") == "user0")
        // Nobody comes back to them: the next day their names and places are free.
        #expect(book.ends(at: day(0.99)) { _ in false }.isEmpty)
        book.apply(book.ends(at: day(1)) { $0 == "user7" })
        #expect(book.accounts.map(\.name) == ["user7"], "who is online stays")
        #expect(book.owner(ofToken: "12") == nil)
        let again = try add("user0", to: &book, at: day(1))
        #expect(again)
    }

    @Test func `an account to which somebody comes back stays`() throws {
        var book = AccountBook()
        for name in ["alice", "bobby"] {
            let isAdded = try add(name, to: &book, at: day(0))
            #expect(isAdded)
        }
        #expect(!book.isReturn(to: "alice", at: day(0.01)), "the first login is part of the registration")
        #expect(book.isReturn(to: "alice", at: day(0.5)) && !book.isReturn(to: "nobody", at: day(0.5)))
        book.apply([.returned(name: "alice")])
        #expect(!book.isReturn(to: "alice", at: day(0.6)))
        #expect(book.ends(at: day(99)) { _ in false } == [.ended(id: "id of bobby")])
    }

    @Test func `accounts of earlier versions do not end`() throws {
        let text =
            #"{"version":1,"accounts":[{"id":"1","name":"alice","createdAt":"2020-01-01T00:00:00Z","tokens":[],"#
            + #""password":{"salt":"","key":"","cost":{"rounds":2,"blockSize":1,"parallelism":1}}}]}"#
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        let book = try decoder.decode(AccountBook.self, from: Data(text.utf8))
        #expect(book.ends(at: .now) { _ in false }.isEmpty)
    }

    // MARK: The journal

    @Test func `a login costs a line, and the file comes anew when the journal is long`() async throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        var clock = Instant.zero
        let now = Guarded(clock)
        let accounts = Accounts(
            file, cost: Self.cheap, logger: Logger(label: "test"), now: { now.withLock { $0 } })
        _ = try await accounts.register("alice", "secret", from: nil)
        func size() -> Int { (try? Data(contentsOf: URL(fileURLWithPath: file.journal)).count) ?? 0 }
        let before = size()
        var token = try await accounts.logIn("alice", "secret", from: nil)
        #expect((1..<250).contains(size() - before))
        var largest = 0
        while !FileManager.default.fileExists(atPath: file.path) {
            clock += .seconds(2)
            now.withLock { $0 = clock }
            token = try await accounts.logIn("alice", "secret", from: nil)
            largest = max(largest, size())
            try #require(largest < 1_000_000)
        }
        #expect((200_000..<300_000).contains(largest) && size() == 0)
        #expect(try file.read().owner(ofToken: token) == "alice")
    }

    @Test func `a crash between the file and the end of the journal changes nothing`() throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let hash = try PasswordHash("x", cost: Self.cheap)
        var book = AccountBook()
        // The name is taken, free, and taken by another.
        var changes: [AccountBook.Change] = []
        for id in ["1", "2"] {
            let change = try #require(book.registration("alice", hash, id: id, at: day(0)))
            changes += [change, .loggedIn(name: "alice", token("of \(id)"))]
            book.apply(Array(changes.suffix(2)))
            if id == "1" {
                changes.append(.ended(id: "1"))
                book.apply([.ended(id: "1")])
            }
        }
        _ = try file.append(changes)
        #expect(try file.read() == book && book.owner(ofToken: "of 1") == nil && book.owner(ofToken: "of 2") == "alice")
        try file.write(book)
        #expect(!FileManager.default.fileExists(atPath: file.journal))
        _ = try file.append(changes)
        let read = try file.read()
        #expect(read.accounts.map(\.id) == ["2"] && read.owner(ofToken: "of 2") == "alice")
    }

    @Test func `an incomplete last line is a login without an answer, and a damaged one stops the start`() throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let hash = try PasswordHash("x", cost: Self.cheap)
        let change = try #require(AccountBook().registration("alice", hash, id: "1", at: day(0)))
        _ = try file.append([change])
        let whole = try Data(contentsOf: URL(fileURLWithPath: file.journal))
        try (whole + whole.prefix(30)).write(to: URL(fileURLWithPath: file.journal))
        #expect(try file.read().accounts.map(\.name) == ["alice"])
        try (whole.prefix(30) + Data("\n".utf8) + whole).write(to: URL(fileURLWithPath: file.journal))
        #expect(throws: AccountFile.Fault.self) { try file.read() }
    }

    @Test(arguments: [
        #"{"version":2,"accounts":[]}"#, #"{"accounts":[]}"#, "[]", "",
        #"{"version":1,"accounts":[{"id":"1","name":"../x","createdAt":"2020-01-01T00:00:00Z","tokens":[],"password":{"salt":"","key":"","cost":{"rounds":2,"blockSize":1,"parallelism":1}}}]}"#,
        #"{"version":1,"accounts":[{"id":"1","name":"alice","createdAt":"2020-01-01T00:00:00Z","tokens":[],"password":{"salt":"","key":"","cost":{"rounds":1073741824,"blockSize":8,"parallelism":1}}}]}"#,
    ])
    func `a file of another form is refused`(text: String) {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        #expect(throws: (any Error).self) { try decoder.decode(AccountBook.self, from: Data(text.utf8)) }
    }
}
