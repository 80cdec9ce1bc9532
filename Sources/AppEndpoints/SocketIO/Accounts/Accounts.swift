import Basics
import FoundationEssentials
import Logging
import Threads
import WebServer

/// The accounts of the clients that log in by name and password, in memory and in their file.
///
/// Hashes and writes run one after the other on a thread of their own: a hash takes a fifth of a second of a processor.
/// `LoginQueue` says whose comes next.
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

    /// New accounts of one address a day, and at once: a family, and an office's first day.
    private static let (newRate, newBurst) = (50.0 / 86_400, 50.0)
    /// The names that have logged in from an address, of which so many are remembered.
    private static let maxKnown = 10_000
    /// The journal's size from which the file is written anew: at least this, and half of the accounts' own.
    private static let journalBytes = 262_144
    /// Logins and registrations of one address a second, and at once.
    private static let (rate, burst) = (0.5, 10.0)

    private struct State {
        var book = AccountBook()
        var fault: AccountFile.Fault?
        var known: [Known: Instant] = [:]
    }

    /// A name that has logged in from an address.
    private struct Known: Hashable {
        var name: String
        var address: IPAddress?
    }

    private struct Job {
        var run: @Sendable () -> Void
        var refuse: @Sendable () -> Void
    }

    private struct Jobs {
        var queue = LoginQueue<Job>()
        var isOver = false
    }

    private let file: AccountFile
    private let cost: PasswordHash.Cost
    private let state: Guarded<State>
    private let jobs = Condition(Jobs())
    private let addresses: BucketTable<IPAddress>
    private let newcomers: BucketTable<IPAddress>
    private let isOnline: @Sendable (String) -> Bool
    private let logger: Logger
    private let now: @Sendable () -> Instant

    /// - Parameters:
    ///   - isOnline: whether an account has a session.
    ///   - now: an argument for tests, as `cost`.
    init(
        _ file: AccountFile, cost: PasswordHash.Cost = .usual, logger: Logger,
        isOnline: @escaping @Sendable (String) -> Bool = { _ in false },
        now: @escaping @Sendable () -> Instant = { MonotonicClock.now() }
    ) {
        self.now = now
        self.file = file
        self.cost = cost
        self.isOnline = isOnline
        self.logger = logger
        addresses = BucketTable(rate: Accounts.rate, burst: Accounts.burst, at: now())
        newcomers = BucketTable(rate: Accounts.newRate, burst: Accounts.newBurst, at: now())
        var initial = State()
        do throws(AccountFile.Fault) {
            initial.book = try file.read()
        } catch {
            initial.fault = error
            logger.error("Nobody can log in by Socket.IO: \(error.message)")
        }
        state = Guarded(initial)
        DedicatedThread.start("accounts", niceness: 5) { [jobs] in
            while let work = jobs.wait({ jobs in Accounts.next(&jobs, at: now()) }) ?? nil {
                for job in work.late { job.refuse() }
                work.job?.run()
            }
        }
    }

    deinit { jobs.withLock(waking: .all) { $0.isOver = true } }

    /// The next work; an inner nil ends the thread.
    private static func next(_ jobs: inout Jobs, at now: Instant) -> (job: Job?, late: [Job])?? {
        if jobs.isOver { return .some(nil) }
        return jobs.queue.next(at: now).map { .some($0) }
    }

    var book: AccountBook { state.withLock { $0.book } }

    /// Adds an account and logs its client in. Returns the client's token.
    func register(_ name: String, _ password: String, from address: IPAddress?) async throws(Refusal) -> String {
        guard AccountBook.isName(name) else { throw .badName }
        try check(password, address)
        if state.withLock({ $0.book.isTaken(name) }) { throw .taken }
        let prefix = address?.clientPrefix ?? .v4(0)
        guard newcomers.take(prefix, at: now()) == .zero else { throw .busy }
        let cost = cost
        return try await run(name, address) { (book, isOnline) throws(Refusal) in
            // Another registration may have come first.
            if book.isTaken(name) { throw .taken }
            guard let hash = try? PasswordHash(password, cost: cost) else { throw .failed }
            let date = Date()
            let ends = book.ends(at: date, isOnline: isOnline)
            book.apply(ends)
            let id = UUID().uuidString.lowercased()
            guard let registration = book.registration(name, hash, id: id, at: date) else { throw .full }
            let (token, login) = Accounts.login(name, at: date)
            book.apply([registration, login])
            return (token, ends + [registration, login])
        }
    }

    /// Logs a client in. Returns its token.
    func logIn(_ name: String, _ password: String, from address: IPAddress?) async throws(Refusal) -> String {
        try check(password, address)
        let cost = cost
        return try await run(name, address) { (book, _) throws(Refusal) in
            // An unknown name takes as long as a wrong password.
            guard let account = book.account(named: name) else {
                _ = try? PasswordHash(password, cost: cost)
                throw .wrong
            }
            guard account.password.matches(password) else { throw .wrong }
            let date = Date()
            let (token, login) = Accounts.login(name, at: date)
            let changes = [login] + (book.isReturn(to: name, at: date) ? [.returned(name: name)] : [])
            book.apply(changes)
            return (token, changes)
        }
    }

    /// A client has come with a token of the account, or has been here until now: the account is used.
    func seen(_ name: String) {
        guard state.withLock({ $0.book.isReturn(to: name, at: .now) }) else { return }
        Task {
            _ = try? await run(name, nil) { (book, _) throws(Refusal) in
                let changes = book.isReturn(to: name, at: .now) ? [AccountBook.Change.returned(name: name)] : []
                book.apply(changes)
                return ("", changes)
            }
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

    private static func login(_ name: String, at date: Date) -> (token: String, change: AccountBook.Change) {
        let token = UUID().uuidString.lowercased()
        let entry = AccountBook.Token(digest: AccountBook.Token.digest(token), createdAt: date)
        return (token, .loggedIn(name: name, entry))
    }

    /// A change of a copy of the accounts. Returns the client's token and the changes for the journal.
    private typealias Work =
        @Sendable (inout AccountBook, _ isOnline: (String) -> Bool) throws(Refusal) -> (String, [AccountBook.Change])

    /// Does the work on the thread, when it is the address's turn, and takes it over once it is on the disk.
    private func run(
        _ name: String, _ address: IPAddress?, _ work: @escaping Work
    ) async throws(Refusal) -> String {
        let known = Known(name: name.lowercased(), address: address?.clientPrefix)
        let isKnown = address == nil || state.withLock { $0.known[known] != nil }
        let result = await withCheckedContinuation { (done: CheckedContinuation<Result<String, Refusal>, Never>) in
            let job = Job(
                run: { [weak self] in done.resume(returning: self?.run(work, known) ?? .failure(.failed)) },
                refuse: { done.resume(returning: .failure(.busy)) })
            let answer = jobs.withLock(waking: .one) { jobs in
                jobs.queue.add(job, from: address, isKnown: isKnown, at: now())
            }
            switch answer {
            case .taken: break
            case .displaced(let other): other.refuse()
            case .refused: job.refuse()
            }
        }
        return try result.get()
    }

    /// Runs on the thread.
    private func run(_ work: Work, _ known: Known) -> Result<String, Refusal> {
        var book = state.withLock { $0.book }
        let (token, changes): (String, [AccountBook.Change])
        do throws(Refusal) { (token, changes) = try work(&book, isOnline) } catch { return .failure(error) }
        do throws(AccountFile.Fault) {
            let size = changes.isEmpty ? 0 : try file.append(changes)
            // An account has 400 bytes and its tokens.
            if size > max(Self.journalBytes, book.accounts.count * 400) { try file.write(book) }
        } catch {
            logger.error("A login by Socket.IO failed: \(error.message)")
            return .failure(.failed)
        }
        let now = now()
        state.withLock { state in
            state.book = book
            if state.known.count >= Self.maxKnown, state.known[known] == nil,
                let oldest = state.known.min(by: { $0.value < $1.value })
            {
                state.known[oldest.key] = nil
            }
            state.known[known] = now
        }
        return .success(token)
    }
}
