import Basics
import FoundationEssentials
import Logging
import Threads

/// The accounts of the clients that log in by name and password, in memory and in their file.
///
/// Hashes and writes run one after the other on a thread of their own: a hash takes a fifth of a second of a processor.
final class Accounts: Sendable {
    /// Why a login or a registration failed, for the person.
    struct Refusal: Error, Equatable, Sendable {
        var message: String

        static let wrong = Refusal(message: "the name or the password is wrong")
        static let taken = Refusal(message: "this name is taken")
        static let badName = Refusal(
            message: "a name has 4 to 15 letters, digits and _, and no _ at its ends")
        static let badPassword = Refusal(message: "a password has 1 to 128 characters")
        static let full = Refusal(message: "this server takes no more accounts")
        static let busy = Refusal(message: "too many logins at once: try again in a minute")
        /// The log says more.
        static let failed = Refusal(message: "the server cannot use its accounts now: its log says why")
    }

    /// The jobs that wait at most: four seconds of work.
    private static let maxJobs = 20
    /// Logins and registrations of one address a second, and at once.
    private static let (rate, burst) = (0.5, 10.0)

    private struct State {
        var book = AccountBook()
        var fault: AccountFile.Fault?
    }

    private struct Jobs {
        var waiting: [@Sendable () -> Void] = []
        var isOver = false
    }

    private let file: AccountFile
    private let cost: PasswordHash.Cost
    private let state: Guarded<State>
    private let jobs = Condition(Jobs())
    private let addresses: BucketTable<IPAddress>
    private let logger: Logger
    private let now: @Sendable () -> Instant

    /// - Parameter now: an argument for tests, as `cost`.
    init(
        _ file: AccountFile, cost: PasswordHash.Cost = .usual, logger: Logger,
        now: @escaping @Sendable () -> Instant = { MonotonicClock.now() }
    ) {
        self.now = now
        self.file = file
        self.cost = cost
        self.logger = logger
        addresses = BucketTable(rate: Accounts.rate, burst: Accounts.burst, at: now())
        var initial = State()
        do throws(AccountFile.Fault) {
            initial.book = try file.read()
        } catch {
            initial.fault = error
            logger.error("Nobody can log in by Socket.IO: \(error.message)")
        }
        state = Guarded(initial)
        DedicatedThread.start("accounts", niceness: 5) { [jobs] in
            while let job = jobs.wait({ jobs in Accounts.next(&jobs) }) ?? nil { job() }
        }
    }

    deinit { jobs.withLock(waking: .all) { $0.isOver = true } }

    /// The next job; an inner nil ends the thread.
    private static func next(_ jobs: inout Jobs) -> (@Sendable () -> Void)?? {
        if jobs.isOver { return .some(nil) }
        return jobs.waiting.isEmpty ? nil : .some(jobs.waiting.removeFirst())
    }

    var book: AccountBook { state.withLock { $0.book } }

    /// Adds an account and logs its client in. Returns the client's token.
    func register(_ name: String, _ password: String, from address: IPAddress?) async throws(Refusal) -> String {
        guard AccountBook.isName(name) else { throw .badName }
        try check(password, address)
        if state.withLock({ $0.book.isTaken(name) }) { throw .taken }
        let cost = cost
        return try await run { (book) throws(Refusal) in
            // Another registration may have come first.
            if book.isTaken(name) { throw .taken }
            guard let hash = try? PasswordHash(password, cost: cost) else { throw .failed }
            let id = UUID().uuidString.lowercased()
            guard book.register(name, hash, id: id, at: .now) else { throw .full }
            return Accounts.addToken(to: name, &book)
        }
    }

    /// Logs a client in. Returns its token.
    func logIn(_ name: String, _ password: String, from address: IPAddress?) async throws(Refusal) -> String {
        try check(password, address)
        let cost = cost
        return try await run { (book) throws(Refusal) in
            // An unknown name takes as long as a wrong password.
            guard let account = book.account(named: name) else {
                _ = try? PasswordHash(password, cost: cost)
                throw .wrong
            }
            guard account.password.matches(password) else { throw .wrong }
            return Accounts.addToken(to: name, &book)
        }
    }

    private func check(_ password: String, _ address: IPAddress?) throws(Refusal) {
        guard (1...128).contains(password.count), password.utf8.count <= 512 else { throw .badPassword }
        let wait = addresses.take(address?.clientPrefix ?? .v4(0), at: now())
        guard wait == .zero else { throw .busy }
        if let fault = state.withLock({ $0.fault }) {
            logger.error("A login by Socket.IO failed: \(fault.message)")
            throw .failed
        }
    }

    private static func addToken(to name: String, _ book: inout AccountBook) -> String {
        let token = UUID().uuidString.lowercased()
        book.addToken(token, to: name, at: .now)
        return token
    }

    /// Changes a copy of the accounts on the thread, writes it, and takes it over once it is on the disk.
    private func run(
        _ change: @escaping @Sendable (inout AccountBook) throws(Refusal) -> String
    ) async throws(Refusal) -> String {
        let result = await withCheckedContinuation { (done: CheckedContinuation<Result<String, Refusal>, Never>) in
            let job: @Sendable () -> Void = { [state, file, logger] in
                done.resume(returning: Accounts.run(change, state, file, logger))
            }
            let isQueued = jobs.withLock(waking: .one) { jobs in
                guard jobs.waiting.count < Accounts.maxJobs else { return false }
                jobs.waiting.append(job)
                return true
            }
            if !isQueued { done.resume(returning: .failure(.busy)) }
        }
        return try result.get()
    }

    private static func run(
        _ change: (inout AccountBook) throws(Refusal) -> String, _ state: Guarded<State>, _ file: AccountFile,
        _ logger: Logger
    ) -> Result<String, Refusal> {
        var book = state.withLock { $0.book }
        let token: String
        do throws(Refusal) { token = try change(&book) } catch { return .failure(error) }
        do throws(AccountFile.Fault) {
            try file.write(book)
        } catch {
            logger.error("A login by Socket.IO failed: \(error.message)")
            return .failure(.failed)
        }
        state.withLock { $0.book = book }
        return .success(token)
    }
}
