import Synchronization

/// A count for each case of an enumeration.
final class CaseCounts<Case: CaseIterable & Equatable & Sendable>: Sendable {
    private final class Count: Sendable { let value = Atomic<Int>(0) }
    private let counts = Case.allCases.map { _ in Count() }

    private func count(of one: Case) -> Count? { zip(Case.allCases, counts).first { $0.0 == one }?.1 }

    func add(_ amount: Int, to one: Case) { count(of: one)?.value.wrappingAdd(amount, ordering: .relaxed) }
    subscript(one: Case) -> Int { count(of: one)?.value.load(ordering: .relaxed) ?? 0 }
}
