! SPDX-License-Identifier: Apache-2.0
! A field that diffuses along x, on a periodic row of points spread over processing elements: the halo
! exchange called from Fortran through iso_c_binding. The C example beside it explains the method.
!
!     stencil_fortran             or, with MPI:   mpirun -n 3 stencil_fortran
module throng_halo
  use, intrinsic :: iso_c_binding
  implicit none

  type, bind(C) :: halo_params ! tg_halo_params
    integer(c_int) :: grid(3) = 1
    type(c_ptr) :: schedule = c_null_ptr
    real(c_double) :: margin = 0
    type(c_funptr) :: message = c_null_funptr
    type(c_ptr) :: context = c_null_ptr
  end type

  interface
    function world_open_communicator(communicator, deadline_s, world) result(status) &
        bind(C, name="tg_world_open_communicator")
      import :: c_ptr, c_double, c_int
      type(c_ptr), value :: communicator
      real(c_double), value :: deadline_s
      type(c_ptr), intent(out) :: world
      integer(c_int) :: status
    end function
    function world_open_fortran(communicator, deadline_s, world) result(status) &
        bind(C, name="tg_world_open_fortran")
      import :: c_ptr, c_double, c_int
      integer(c_int), value :: communicator
      real(c_double), value :: deadline_s
      type(c_ptr), intent(out) :: world
      integer(c_int) :: status
    end function
    function world_close(world, status) result(outcome) bind(C, name="tg_world_close")
      import :: c_ptr, c_int
      type(c_ptr), intent(inout) :: world
      integer(c_int), value :: status
      integer(c_int) :: outcome
    end function
    function world_pe(world) result(pe) bind(C, name="tg_world_pe")
      import :: c_ptr, c_int
      type(c_ptr), value :: world
      integer(c_int) :: pe
    end function
    function world_pe_count(world) result(pes) bind(C, name="tg_world_pe_count")
      import :: c_ptr, c_int
      type(c_ptr), value :: world
      integer(c_int) :: pes
    end function
    function world_sum_doubles(world, values, count) result(status) &
        bind(C, name="tg_world_sum_doubles")
      import :: c_ptr, c_double, c_size_t, c_int
      type(c_ptr), value :: world
      real(c_double), intent(inout) :: values(*)
      integer(c_size_t), value :: count
      integer(c_int) :: status
    end function
    function halo_create(world, params, halo) result(status) bind(C, name="tg_halo_create")
      import :: c_ptr, c_int, halo_params
      type(c_ptr), value :: world
      type(halo_params), intent(in) :: params
      type(c_ptr), intent(out) :: halo
      integer(c_int) :: status
    end function
    subroutine halo_destroy(halo) bind(C, name="tg_halo_destroy")
      import :: c_ptr
      type(c_ptr), intent(inout) :: halo
    end subroutine
    function halo_owner(halo, box, centre) result(pe) bind(C, name="tg_halo_owner")
      import :: c_ptr, c_double, c_int
      type(c_ptr), value :: halo
      real(c_double), intent(in) :: box(3), centre(3)
      integer(c_int) :: pe
    end function
    function halo_plan(halo, box, reach, home_count, centre) result(status) &
        bind(C, name="tg_halo_plan")
      import :: c_ptr, c_double, c_size_t, c_int
      type(c_ptr), value :: halo
      real(c_double), intent(in) :: box(3)
      real(c_double), value :: reach
      integer(c_size_t), value :: home_count
      real(c_double), intent(in) :: centre(3, *)
      integer(c_int) :: status
    end function
    function halo_halo_count(halo) result(count) bind(C, name="tg_halo_halo_count")
      import :: c_ptr, c_size_t
      type(c_ptr), value :: halo
      integer(c_size_t) :: count
    end function
    function halo_positions(halo, x) result(status) bind(C, name="tg_halo_positions")
      import :: c_ptr, c_double, c_int
      type(c_ptr), value :: halo
      real(c_double), intent(inout) :: x(3, *)
      integer(c_int) :: status
    end function
    function halo_copy(halo, array, size) result(status) bind(C, name="tg_halo_copy")
      import :: c_ptr, c_double, c_size_t, c_int
      type(c_ptr), value :: halo
      real(c_double), intent(inout) :: array(3, *)
      integer(c_size_t), value :: size
      integer(c_int) :: status
    end function
    function halo_forces(halo, f) result(status) bind(C, name="tg_halo_forces")
      import :: c_ptr, c_double, c_int
      type(c_ptr), value :: halo
      real(c_double), intent(inout) :: f(3, *)
      integer(c_int) :: status
    end function
  end interface
end module

program stencil
  use throng_halo
#ifdef STENCIL_MPI
  use mpi
#endif
  implicit none
  integer, parameter :: points = 60, steps = 40
  real(c_double), parameter :: rate = 0.2_c_double, pi = acos(-1.0_c_double)
  real(c_double), parameter :: box(3) = [60.0_c_double, 1.0_c_double, 1.0_c_double]
  character(kind=c_char), target :: schedule(6) = ["d", "i", "r", "e", "c", "t"]
  character(kind=c_char), target :: name(7)
  type(halo_params) :: params
  type(c_ptr) :: world, halo
  integer(c_size_t) :: home, local, i
  integer(c_int) :: status
  real(c_double) :: x(3, points + 1), u(3, points + 1), gain(3, points + 1)
  real(c_double) :: at(3), error(1), shrink
  logical :: speaks
  integer :: step, failed
#ifdef STENCIL_MPI
  call mpi_init(failed)
  status = world_open_fortran(int(MPI_COMM_WORLD, c_int), 0.0_c_double, world)
#else
  status = world_open_communicator(c_null_ptr, 0.0_c_double, world)
#endif
  if (status /= 0) stop 1
  name(1:6) = schedule
  name(7) = c_null_char
  params%grid(1) = world_pe_count(world)
  params%schedule = c_loc(name)
  status = halo_create(world, params, halo)
  if (status /= 0) stop 1

  home = 0
  do step = 1, points
    at = [step - 0.5_c_double, 0.5_c_double, 0.5_c_double]
    if (halo_owner(halo, box, at) /= world_pe(world)) cycle
    home = home + 1
    x(:, home) = at
    u(:, home) = cos(2 * pi / points * at(1))
  end do
  status = halo_plan(halo, box, 1.0_c_double, home, x) ! one point above the brick
  local = home + halo_halo_count(halo)
  if (status == 0) status = halo_positions(halo, x)
  do step = 1, steps
    if (status == 0) status = halo_copy(halo, u, 24_c_size_t)
    gain(:, 1:local) = 0
    do i = 1, local - 1 ! points are in order, and the halo's one lies above the last
      gain(:, i) = gain(:, i) + rate * (u(:, i + 1) - u(:, i))
      gain(:, i + 1) = gain(:, i + 1) - rate * (u(:, i + 1) - u(:, i))
    end do
    if (local == home) then ! alone: the last point's neighbour is the first
      at = rate * (u(:, 1) - u(:, home))
      gain(:, home) = gain(:, home) + at
      gain(:, 1) = gain(:, 1) - at
    end if
    if (status == 0) status = halo_forces(halo, gain)
    u(:, 1:home) = u(:, 1:home) + gain(:, 1:home)
  end do

  shrink = (1 - 2 * rate * (1 - cos(2 * pi / points)))**steps
  error(1) = 0
  do i = 1, home
    error(1) = error(1) + abs(u(1, i) - shrink * cos(2 * pi / points * x(1, i)))
  end do
  if (status == 0) status = world_sum_doubles(world, error, 1_c_size_t)
  error = error / points
  speaks = world_pe(world) == 0
  if (speaks) print "(i0, a, i0, a, es9.2)", steps, " steps on ", params%grid(1), &
    " domains, schedule direct: mean error ", error
  call halo_destroy(halo)
  status = world_close(world, status)
  failed = merge(1, 0, status /= 0 .or. error(1) > 2 * steps * 2.3e-16_c_double)
#ifdef STENCIL_MPI
  call mpi_finalize(step)
#endif
  if (failed /= 0) stop 1
end program
