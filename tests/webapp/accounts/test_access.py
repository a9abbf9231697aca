import pytest
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import PermissionDenied
from django.http import Http404
from django.test import RequestFactory

from webapp.accounts.access import Role, can_write, project_for_user, projects_of, role_in


def request_of(user):
    request = RequestFactory().get("/")
    request.user = user
    return request


def test_member_gets_the_project(project, viewer):
    assert project_for_user(request_of(viewer), "search") == project


def test_stranger_gets_404_as_if_the_project_did_not_exist(stranger):
    with pytest.raises(Http404):
        project_for_user(request_of(stranger), "search")


def test_unknown_project_is_404_for_a_member(viewer):
    with pytest.raises(Http404):
        project_for_user(request_of(viewer), "nothing-here")


def test_anonymous_is_404(project):
    with pytest.raises(Http404):
        project_for_user(request_of(AnonymousUser()), "search")


def test_role_below_the_least_role_is_403(viewer):
    with pytest.raises(PermissionDenied, match="viewer"):
        project_for_user(request_of(viewer), "search", role=Role.ENGINEER)


@pytest.mark.parametrize("role", [Role.VIEWER, Role.ENGINEER, Role.FINOPS, Role.ADMIN])
def test_admin_may_do_what_any_role_may(project, owner, role):
    assert project_for_user(request_of(owner), "search", role=role) == project


def test_engineer_is_not_above_finops_nor_the_reverse(engineer, finops):
    with pytest.raises(PermissionDenied):
        project_for_user(request_of(engineer), "search", role=Role.FINOPS)
    with pytest.raises(PermissionDenied):
        project_for_user(request_of(finops), "search", role=Role.ENGINEER)


def test_any_of_several_roles_is_enough(project, finops):
    roles = {Role.ENGINEER, Role.FINOPS}
    assert project_for_user(request_of(finops), "search", role=roles) == project


def test_membership_costs_one_query_a_request(viewer, django_assert_num_queries):
    request = request_of(viewer)
    with django_assert_num_queries(1):
        project_for_user(request, "search")
        project_for_user(request, "search").organisation.name  # noqa: B018


def test_can_write_follows_the_role(project, owner, engineer, viewer, stranger):
    assert can_write(owner, project)
    assert can_write(engineer, project)
    assert can_write(engineer, project, Role.ENGINEER)
    assert not can_write(engineer, project, Role.ADMIN)
    assert not can_write(viewer, project)
    assert not can_write(stranger, project)
    assert not can_write(AnonymousUser(), project)


def test_projects_of_lists_only_memberships(project, owner, stranger):
    assert projects_of(owner) == [project]
    assert project not in projects_of(stranger)
    assert role_in(stranger, project) is None
