import Basics
import Foundation
import Logging
import Testing

@testable import Gateway

@Suite struct AccountsTests {
    /// As little work as scrypt can have.
    private static let cheap = PasswordHash.Cost(rounds: 2, blockSize: 1, parallelism: 1)

    private let directory = NSTemporaryDirectory() + "accounts-\(UUID().uuidString)"
    private var file: AccountFile { AccountFile(directory: directory) }

    private func accounts() -> Accounts { Accounts(file, cost: Self.cheap, logger: Logger(label: "test")) { .zero } }

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
        let text = try String(contentsOfFile: file.path, encoding: .utf8)
        #expect(!text.contains(token) && !text.contains("secret"))
        let mode = try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
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

    @Test func `accounts and tokens are limited`() throws {
        var book = AccountBook()
        let hash = try PasswordHash("x", cost: Self.cheap)
        for number in 0..<AccountBook.maxAccounts {
            #expect(book.register("user\(number)", hash, id: "\(number)", at: .now) == true)
        }
        #expect(book.register("another", hash, id: "x", at: .now) == false)
        for number in 0..<20 { book.addToken("\(number)", to: "user0", at: .now) }
        #expect(book.accounts[0].tokens.count == AccountBook.maxTokens)
        #expect(book.owner(ofToken: "11") == nil && book.owner(ofToken: "12") == "user0")
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
